//! The axes of an experiment: keys that take one value after the other.

use toml::{Table, Value};

use super::setup::Setup;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key that the axis sets, or the name of its cases.
    pub title: String,
    /// Its values, in order.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// Its label in reports.
    pub label: String,
    /// The keys that it sets, with their values.
    pub set: Vec<(String, Value)>,
}

/// Why the sweep is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// The axis is not a list.
    #[error("sweep.{0}: give a list of the values that it takes, as [1, 2, 4]")]
    NoList(String),
    /// The axis has no values.
    #[error("sweep.{0}: there is no value in the list")]
    Empty(String),
    /// A case has no name.
    #[error(
        "sweep.{axis}: case {number} is no table with a name, as {{ name = \"RAID 5\", array.organization = \"raid5\" }}"
    )]
    NoCase {
        /// The axis.
        axis: String,
        /// The number of the case, from 1.
        number: usize,
    },
    /// A part of the key before its last dot is not a table.
    #[error("'{0}' cannot be set: what stands before its last dot is no table of the file")]
    NoTable(String),
    /// The text is not a setting.
    #[error("'{0}' sets nothing: write key=value, as workload.processes=8")]
    NoSetting(String),
}

/// Returns the axes of a table, in its order.
pub(super) fn axes(table: &Table) -> Result<Vec<Axis>, SweepError> {
    let mut found = Vec::new();
    gather("", table, &mut found)?;
    Ok(found)
}

/// Collects the axes. TOML parses keys with dots as tables: `a.b = [1]` is an axis of `a.b`.
fn gather(prefix: &str, table: &Table, found: &mut Vec<Axis>) -> Result<(), SweepError> {
    for (key, value) in table {
        let title = format!("{prefix}{key}");
        match value {
            Value::Table(inner) => gather(&format!("{title}."), inner, found)?,
            Value::Array(values) if values.is_empty() => return Err(SweepError::Empty(title)),
            Value::Array(values) if is_setting(&title) => {
                found.push(Axis { values: values.iter().map(|value| plain(&title, value)).collect(), title })
            }
            Value::Array(values) => {
                let cases = values.iter().enumerate().map(|(index, value)| case(&title, index, value));
                found.push(Axis { values: cases.collect::<Result<_, _>>()?, title });
            }
            _ => return Err(SweepError::NoList(title)),
        }
    }
    Ok(())
}

/// Whether a key's first part is a key of [`Setup`].
fn is_setting(key: &str) -> bool {
    let known = serde_json::to_value(Setup::default()).expect("settings are plain data");
    let first = key.split('.').next().unwrap_or_default();
    known.get(first).is_some()
}

fn plain(key: &str, value: &Value) -> AxisValue {
    let label = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    AxisValue { label, set: vec![(key.to_owned(), value.clone())] }
}

fn case(axis: &str, index: usize, value: &Value) -> Result<AxisValue, SweepError> {
    let wrong = || SweepError::NoCase { axis: axis.to_owned(), number: index + 1 };
    let mut table = value.as_table().cloned().ok_or_else(wrong)?;
    let Some(Value::String(label)) = table.remove("name") else { return Err(wrong()) };
    let mut set = Vec::new();
    flatten("", table, &mut set);
    Ok(AxisValue { label, set })
}

fn flatten(prefix: &str, table: Table, set: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        match value {
            Value::Table(inner) if !is_value(&key) => flatten(&format!("{key}."), inner, set),
            value => set.push((key, value)),
        }
    }
}

/// Whether a key's value can itself be a table. That is so for keys of [`Setup`], which have two
/// parts.
fn is_value(key: &str) -> bool {
    key.split('.').filter(|part| part.parse::<usize>().is_err()).count() > 1
}

/// Sets a key. Dots separate its parts; a number selects a table of a list, from 0.
pub(super) fn set(table: &mut Table, key: &str, value: Value) -> Result<(), SweepError> {
    let (path, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut here = table;
    let mut parts = path.split('.').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let next = here.entry(part).or_insert_with(|| Value::Table(Table::new()));
        here = match next {
            Value::Table(inner) => inner,
            Value::Array(several) => parts
                .next()
                .and_then(|number| number.parse::<usize>().ok())
                .and_then(|number| several.get_mut(number))
                .and_then(Value::as_table_mut)
                .ok_or_else(|| SweepError::NoTable(key.to_owned()))?,
            _ => return Err(SweepError::NoTable(key.to_owned())),
        };
    }
    here.insert(last.to_owned(), value);
    Ok(())
}

/// Sets the key of `key=value`. A value that is not valid TOML is a string.
pub(super) fn set_text(table: &mut Table, setting: &str) -> Result<(), SweepError> {
    let (key, text) = setting.split_once('=').ok_or_else(|| SweepError::NoSetting(setting.to_owned()))?;
    let (key, text) = (key.trim(), text.trim());
    if key.is_empty() || key.split('.').any(str::is_empty) {
        return Err(SweepError::NoSetting(setting.to_owned()));
    }
    let value = toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    set(table, key, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes_of(text: &str) -> Result<Vec<Axis>, SweepError> {
        axes(&toml::from_str(text).expect("it is TOML"))
    }

    #[test]
    fn axes_come_in_the_order_of_the_file() {
        let axes = axes_of("workload.processes = [1, 20]\narray.organization = [\"raid5\"]\n").unwrap();
        let titles: Vec<&str> = axes.iter().map(|axis| axis.title.as_str()).collect();
        assert_eq!(titles, ["workload.processes", "array.organization"]);
        assert_eq!(axes[0].values[1].label, "20");
        assert_eq!(axes[1].values[0].label, "raid5");
    }

    #[test]
    fn cases_set_several_keys_and_tables_stay_values() {
        let text = "machine = [{ name = \"small\", members = 3, array.unit = \"4KiB\", workload.size = { exponential = \"8KiB\" } }]";
        let axes = axes_of(text).unwrap();
        let case = &axes[0].values[0];
        assert_eq!(case.label, "small");
        let keys: Vec<&str> = case.set.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["members", "array.unit", "workload.size"]);
    }

    #[test]
    fn what_is_no_axis_is_said() {
        assert_eq!(axes_of("members = 3").unwrap_err(), SweepError::NoList("members".to_owned()));
        assert_eq!(axes_of("members = []").unwrap_err(), SweepError::Empty("members".to_owned()));
        let nameless = axes_of("machine = [{ members = 3 }]").unwrap_err();
        assert_eq!(nameless, SweepError::NoCase { axis: "machine".to_owned(), number: 1 });
    }

    #[test]
    fn a_number_in_a_key_counts_tables() {
        let mut table: Table = toml::from_str("[[workload]]\nreads = 1\n[[workload]]\nreads = 1\n").unwrap();
        set_text(&mut table, "workload.1.reads = 0.5").unwrap();
        assert_eq!(table["workload"][1]["reads"].as_float(), Some(0.5));
        let wrong = set_text(&mut table, "workload.reads=0.5").unwrap_err();
        assert_eq!(wrong, SweepError::NoTable("workload.reads".to_owned()));
        set_text(&mut table, "array.unit=8KiB").unwrap();
        assert_eq!(table["array"]["unit"].as_str(), Some("8KiB"));
    }
}
