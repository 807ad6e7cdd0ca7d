//! Texts one after the other, each found again by its place.

use super::{READ, Scratch, WRITE, write_all_at};
use crate::lines::read_exact_at;
use std::fs::File;

/// Where a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct Text {
    pub(in crate::import) at: u64,
    pub(in crate::import) length: u32,
}

#[derive(Debug, Default)]
pub(in crate::import) struct Texts {
    scratch: Scratch,
    file: Option<File>,
    /// What begins at `written`, up to the end.
    tail: Vec<u8>,
    written: u64,
}

impl Texts {
    pub(in crate::import) fn new(scratch: &Scratch) -> Self {
        Self { scratch: scratch.clone(), ..Self::default() }
    }

    pub(in crate::import) fn push(&mut self, text: &str) -> Text {
        if self.scratch.limits().is_some_and(|limits| self.tail.len() >= limits.bytes) {
            self.put_away();
        }
        let place = Text { at: self.written + self.tail.len() as u64, length: text.len() as u32 };
        self.tail.extend_from_slice(text.as_bytes());
        place
    }

    fn put_away(&mut self) {
        if self.file.is_none() {
            self.file = self.scratch.file();
        }
        let Some(file) = &self.file else { return };
        self.scratch.noted(WRITE, write_all_at(file, &self.tail, self.written));
        self.written += self.tail.len() as u64;
        // One long text must not be paid for ever after.
        self.tail = Vec::new();
    }

    pub(in crate::import) fn get(&self, text: Text) -> Option<String> {
        let length = text.length as usize;
        let bytes = match text.at.checked_sub(self.written) {
            Some(at) => self.tail.get(at as usize..at as usize + length)?.to_vec(),
            None => {
                let mut bytes = vec![0; length];
                self.scratch.noted(READ, read_exact_at(self.file.as_ref()?, &mut bytes, text.at))?;
                bytes
            }
        };
        String::from_utf8(bytes).ok()
    }

    #[cfg(test)]
    pub(in crate::import) fn held(&self) -> usize {
        self.tail.capacity()
    }
}
