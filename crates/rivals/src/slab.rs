//! A table whose entries have small numbers that are used again.

/// Entries by number.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds an entry. Returns its number.
    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.entries[number as usize] = Some(entry);
                number
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() as u32 - 1
            }
        }
    }

    /// Removes an entry, which must be there.
    pub(crate) fn remove(&mut self, number: u32) -> T {
        let entry = self.entries[number as usize].take().expect("what is removed was inserted once");
        self.free.push(number);
        entry
    }

    /// An entry, which must be there.
    pub(crate) fn get(&self, number: u32) -> &T {
        self.entries[number as usize].as_ref().expect("what is looked at was inserted")
    }

    /// An entry, which must be there.
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        self.entries[number as usize].as_mut().expect("what is looked at was inserted")
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}
