//! Keys that are one table or a list of tables.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Reads one table, or a list of tables.
pub(super) fn one_or_several<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Tables<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table, or a list of tables")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Ok(vec![T::deserialize(MapAccessDeserializer::new(map))?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    deserializer.deserialize_any(Tables(PhantomData))
}

/// Writes a list with at least one table, so that the keys of the table are known to the check of
/// keys.
pub(super) fn as_several<S: Serializer, T: Default + Serialize>(
    several: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match several {
        [] => [T::default()].serialize(serializer),
        several => several.serialize(serializer),
    }
}
