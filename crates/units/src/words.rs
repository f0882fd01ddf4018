//! Texts that messages of all crates share: suggestions for unknown words, and plain versions of
//! other libraries' messages.

use strsim::levenshtein;

/// The candidate nearest to `word`, if less than half of it differs.
pub fn meant<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = candidates.min_by_key(|candidate| levenshtein(word, candidate))?;
    (levenshtein(word, nearest) * 2 < nearest.chars().count()).then_some(nearest)
}

/// The suggestion of another word.
pub fn did_you_mean(meant: &str) -> String {
    format!("did you mean '{meant}'?")
}

/// `text` without the error numbers that Rust appends to the system's messages: `File exists (os
/// error 17)`.
pub fn without_numbers(text: &str) -> String {
    const BEGIN: &str = " (os error ";
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let behind = &rest[at + BEGIN.len()..];
        let end = behind.find(')').filter(|end| behind[..*end].bytes().all(|byte| byte.is_ascii_digit()));
        let Some(end) = end else {
            plain.push_str(&rest[..at + BEGIN.len()]);
            rest = behind;
            continue;
        };
        plain.push_str(&rest[..at]);
        rest = &behind[end + 1..];
    }
    plain + rest
}

/// A plain version of the message of one of Rust's own parsers, for a wrong number or truth value.
/// `None` if `message` is not one of these.
pub fn bad_number(message: &str) -> Option<String> {
    let told = match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => "write a whole number",
        "number too large to fit in target type" => "it is too large",
        "number too small to fit in target type" => "it must not be negative",
        "invalid float literal" | "cannot parse float from empty string" => "write a number, such as 0.5",
        "provided string was not `true` or `false`" => "write true or false",
        _ => return bad_range(message),
    };
    Some(told.to_owned())
}

/// `0 is not in 1..=9` and the like.
fn bad_range(message: &str) -> Option<String> {
    let (_, range) = message.split_once(" is not in ")?;
    let (low, high) = range.split_once("..")?;
    let high = high.trim_start_matches('=');
    // A limit that is the maximum of the type is no limit that was set.
    let open = high.is_empty() || high.parse().is_ok_and(|high: u128| high >= u128::from(u32::MAX));
    Some(if open { format!("use at least {low}") } else { format!("use {low} to {high}") })
}

/// A plain version of serde's message for a wrong value in a settings file. `None` if `message` is
/// not serde's.
pub fn bad_value(message: &str) -> Option<String> {
    if let Some(told) = message.strip_prefix("unknown variant `") {
        return unknown_choice(told);
    }
    if let Some(field) = quoted(message, "missing field `") {
        return Some(format!("'{field}' is missing"));
    }
    if let Some(field) = quoted(message, "duplicate field `") {
        return Some(format!("'{field}' is there twice"));
    }
    let (kind, told) = message.split_once(": ")?;
    let (found, expected) = told.rsplit_once(", expected ")?;
    let found = match kind {
        "invalid type" => found_type(found),
        "invalid value" => format!("{} is not possible", found_value(found)),
        _ => return None,
    };
    Some(format!("{found}; write {}", wanted(expected)))
}

fn quoted<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    message.strip_prefix(prefix)?.split('`').next()
}

/// `loged`, expected `resync` or `logged`, without its first quotation mark.
fn unknown_choice(told: &str) -> Option<String> {
    let (word, expected) = told.split_once("`, expected ")?;
    let choices: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let question = meant(word, choices.iter().copied()).map(|meant| format!("; {}", did_you_mean(meant)));
    let question = question.unwrap_or_default();
    Some(format!("'{word}' is none of the choices{question} (known: {})", choices.join(", ")))
}

/// The value that was found, and its type.
fn found_type(found: &str) -> String {
    let kind = match found.split(' ').next().unwrap_or_default() {
        "string" => "a text",
        "integer" | "floating" => "a number",
        "boolean" => "true or false",
        "sequence" => return "this is a list".to_owned(),
        "map" => return "this is a table".to_owned(),
        _ => return "this is something else".to_owned(),
    };
    format!("{} is {kind}", found_value(found))
}

/// Turns `integer ``5``` into `5`, and leaves `string "eight"` as it is.
fn found_value(found: &str) -> String {
    match (found.find('`'), found.find('"')) {
        (Some(from), _) => found[from..].trim_matches('`').to_owned(),
        (None, Some(from)) => found[from..].to_owned(),
        (None, None) => format!("this {found}"),
    }
}

/// The type that was expected, from serde's name for it.
fn wanted(expected: &str) -> String {
    let told = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" | "path string" | "borrowed string" => "a text in quotation marks",
        "a sequence" => "a list in brackets",
        "a boolean" => "true or false",
        "a map" | "map" => "a table of settings",
        other if other.starts_with("struct ") => "a table of settings",
        other => other,
    };
    told.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_system_are_left_away_and_nothing_else() {
        assert_eq!(without_numbers("a: File exists (os error 17); b"), "a: File exists; b");
        assert_eq!(without_numbers("x (os error 1)(os error 2) (os error y)"), "x(os error 2) (os error y)");
        assert_eq!(without_numbers("plain"), "plain");
    }

    #[test]
    fn what_rust_says_of_numbers_becomes_what_to_write() {
        assert_eq!(bad_number("invalid digit found in string").unwrap(), "write a whole number");
        assert_eq!(bad_number("70000 is not in 0..=65535").unwrap(), "use 0 to 65535");
        assert_eq!(bad_number("0 is not in 1..18446744073709551615").unwrap(), "use at least 1");
        assert_eq!(bad_number("'x' is not a size"), None);
    }

    #[test]
    fn what_serde_says_of_values_becomes_what_to_write() {
        for (serde, told) in [
            (
                "invalid type: string \"eight\", expected u16",
                "\"eight\" is a text; write a whole number from 0 to 65535",
            ),
            ("invalid type: integer `5`, expected a sequence", "5 is a number; write a list in brackets"),
            (
                "invalid value: integer `-1`, expected u32",
                "-1 is not possible; write a whole number, 0 or more",
            ),
            ("invalid type: map, expected f64", "this is a table; write a number"),
            (
                "unknown variant `loged`, expected `resync` or `logged`",
                "'loged' is none of the choices; did you mean 'logged'? (known: resync, logged)",
            ),
            ("missing field `name`", "'name' is missing"),
        ] {
            assert_eq!(bad_value(serde).as_deref(), Some(told));
        }
        assert_eq!(bad_value("'many' is not a size; write a number"), None);
    }
}
