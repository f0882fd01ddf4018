//! Escapes text and data for the page.

use serde::Serialize;

/// Escapes text for use between tags and in attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns data as JSON for a script element, escaped so that it cannot end the element.
pub(super) fn data(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("figures are plain data").replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
    }

    #[test]
    fn data_cannot_end_its_script() {
        assert_eq!(data(&"</script><!--"), "\"\\u003c/script>\\u003c!--\"");
    }
}
