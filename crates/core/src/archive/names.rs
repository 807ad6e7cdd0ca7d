//! The strings, each once, with what is known of its use.

use super::hash;
use super::item::Voice;
use super::weigh::Usage;
use crate::entity::{Entity, Kind};

/// Strings by number.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// A table with open places, at most half full.
    slots: Vec<Slot>,
    all: Vec<Name>,
}

/// A place in the table: the number of a string, counted from one, and a part of its hash; zero where it is free.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    number: u32,
    hash: u32,
}

/// One string and how it was used.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: Box<str>,
    pub(super) kind: Kind,
    pub(super) usage: Usage,
    /// Scratch of the block being read: where the string stood last.
    here: Option<(u32, u32)>,
}

/// A string was seen in a block.
pub(super) struct Sighting {
    pub(super) item: u32,
    pub(super) voice: Voice,
    pub(super) beside: u32,
}

impl Names {
    /// The number of a string, and where it stood last in this block.
    pub(super) fn intern(&mut self, entity: Entity<'_>, item: u32) -> (u32, Option<u32>) {
        let hash = hash::of_bytes(entity.text.as_bytes()) as u32;
        let id = match self.look_up(hash, entity.text) {
            Some(id) => id,
            None => self.add(
                hash,
                Name { text: entity.text.into(), kind: entity.kind, usage: Usage::default(), here: None },
            ),
        };
        let name = &mut self.all[id as usize];
        let last = name.here.filter(|(at, _)| *at == item).map(|(_, at)| at);
        if last.is_none() {
            name.here = Some((item, 0));
        }
        (id, last)
    }

    pub(super) fn set_last(&mut self, id: u32, at: u32) {
        if let Some(here) = &mut self.all[id as usize].here {
            here.1 = at;
        }
    }

    pub(super) fn see(&mut self, id: u32, sighting: Sighting) {
        let usage = &mut self.all[id as usize].usage;
        usage.items += 1;
        usage.last = sighting.item;
        if sighting.voice.is_written() {
            usage.last_written = Some(sighting.item);
            usage.beside = usage.beside.min(sighting.beside);
        } else {
            usage.given += 1;
        }
    }

    /// Takes over a string and its history from another table.
    pub(super) fn adopt(&mut self, other: &Self, id: u32) -> u32 {
        let name = other.all[id as usize].clone();
        self.add(hash::of_bytes(name.text.as_bytes()) as u32, name)
    }

    pub(super) fn get(&self, id: u32) -> &Name {
        &self.all[id as usize]
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.look_up(hash::of_bytes(text.as_bytes()) as u32, text)
    }

    fn look_up(&self, hash: u32, text: &str) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            let id = slot.number.checked_sub(1)?;
            if slot.hash == hash && *self.all[id as usize].text == *text {
                return Some(id);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a string that is not there yet.
    fn add(&mut self, hash: u32, name: Name) -> u32 {
        self.all.push(name);
        let number = self.all.len() as u32;
        if self.all.len() * 2 > self.slots.len() {
            let larger = vec![Slot::default(); (self.slots.len() * 2).max(1024)];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.number > 0 {
                    self.settle(slot);
                }
            }
        }
        self.settle(Slot { number, hash });
        number - 1
    }

    fn settle(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash as usize & mask;
        while self.slots[at].number > 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.all.iter()
    }
}
