//! An array that holds the pages used last.

use super::{READ, Scratch, WRITE, write_all_at};
use crate::lines::read_exact_at;
use std::cell::RefCell;
use std::fs::File;

/// A value of one size on disk.
pub(in crate::import) trait Fixed: Copy {
    const SIZE: usize;

    fn write(&self, out: &mut Vec<u8>);

    /// From as many bytes as [`SIZE`](Self::SIZE) says; anything from others.
    fn read(bytes: &[u8]) -> Self;
}

#[derive(Debug)]
pub(in crate::import) struct Paged<T> {
    scratch: Scratch,
    length: usize,
    held: RefCell<Held<T>>,
}

#[derive(Debug)]
struct Held<T> {
    file: Option<File>,
    /// The one used last is first.
    pages: Vec<Page<T>>,
}

#[derive(Debug)]
struct Page<T> {
    number: usize,
    items: Vec<T>,
    /// It differs from the file.
    changed: bool,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self::new(&Scratch::default())
    }
}

impl<T> Paged<T> {
    pub(in crate::import) fn new(scratch: &Scratch) -> Self {
        let held = Held { file: None, pages: Vec::new() };
        Self { scratch: scratch.clone(), length: 0, held: RefCell::new(held) }
    }

    pub(in crate::import) fn len(&self) -> usize {
        self.length
    }

    fn items(&self) -> usize {
        match self.scratch.limits() {
            Some(limits) => limits.items,
            // Then there is one page.
            None => usize::MAX,
        }
    }
}

impl<T: Fixed> Paged<T> {
    pub(in crate::import) fn get(&self, at: usize) -> Option<T> {
        if at >= self.length {
            return None;
        }
        let mut held = self.held.borrow_mut();
        let page = held.bring(at / self.items(), self.length, &self.scratch)?;
        page.items.get(at % self.items()).copied()
    }

    pub(in crate::import) fn push(&mut self, item: T) {
        let (number, items) = (self.length / self.items(), self.items());
        let held = self.held.get_mut();
        let page = if self.length.is_multiple_of(items) {
            held.make_room(&self.scratch);
            let page = Page { number, items: Vec::new(), changed: true };
            held.pages.insert(0, page);
            held.pages.first_mut()
        } else {
            held.bring(number, self.length, &self.scratch)
        };
        if let Some(page) = page {
            page.items.push(item);
            page.changed = true;
        }
        self.length += 1;
    }

    /// Changes an item; nothing where there is none.
    pub(in crate::import) fn change(&mut self, at: usize, change: impl FnOnce(&mut T)) {
        let items = self.items();
        if at >= self.length {
            return;
        }
        if let Some(page) = self.held.get_mut().bring(at / items, self.length, &self.scratch)
            && let Some(item) = page.items.get_mut(at % items)
        {
            change(item);
            page.changed = true;
        }
    }

    #[cfg(test)]
    pub(in crate::import) fn held(&self) -> usize {
        let items: usize = self.held.borrow().pages.iter().map(|page| page.items.capacity()).sum();
        items * size_of::<T>()
    }
}

impl<T: Fixed> Held<T> {
    /// A page of an array of this length, which is first then; `None` after trouble.
    fn bring(&mut self, number: usize, length: usize, scratch: &Scratch) -> Option<&mut Page<T>> {
        match self.pages.iter().position(|page| page.number == number) {
            Some(0) => {}
            Some(at) => self.pages[..=at].rotate_right(1),
            None => {
                let size = scratch.limits()?.items;
                let there = (length - number * size).min(size);
                let mut bytes = vec![0; there * T::SIZE];
                let offset = (number * size * T::SIZE) as u64;
                scratch.noted(READ, read_exact_at(self.file.as_ref()?, &mut bytes, offset))?;
                let items = bytes.chunks_exact(T::SIZE).map(T::read).collect();
                self.make_room(scratch);
                self.pages.insert(0, Page { number, items, changed: false });
            }
        }
        self.pages.first_mut()
    }

    /// Puts the page away that was not used for longest.
    fn make_room(&mut self, scratch: &Scratch) {
        let Some(limits) = scratch.limits() else { return };
        if self.pages.len() < limits.pages {
            return;
        }
        let Some(page) = self.pages.pop().filter(|page| page.changed) else { return };
        if self.file.is_none() {
            self.file = scratch.file();
        }
        let Some(file) = &self.file else { return };
        let mut bytes = Vec::with_capacity(page.items.len() * T::SIZE);
        page.items.iter().for_each(|item| item.write(&mut bytes));
        let offset = (page.number * limits.items * T::SIZE) as u64;
        scratch.noted(WRITE, write_all_at(file, &bytes, offset));
    }
}

impl Fixed for u64 {
    const SIZE: usize = 8;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(0, Self::from_le_bytes)
    }
}
