//! The strings, each once, with what is known of its use.

use super::item::Voice;
use super::weigh::Usage;
use crate::entity::{Entity, Kind};
use std::collections::HashMap;

/// Strings by number.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Box<str>, u32>,
    all: Vec<Name>,
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
        let id = match self.ids.get(entity.text) {
            Some(&id) => id,
            None => {
                let id = self.all.len() as u32;
                self.ids.insert(entity.text.into(), id);
                self.all.push(Name {
                    text: entity.text.into(),
                    kind: entity.kind,
                    usage: Usage::default(),
                    here: None,
                });
                id
            }
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
        let new = self.all.len() as u32;
        self.ids.insert(name.text.clone(), new);
        self.all.push(name);
        new
    }

    pub(super) fn get(&self, id: u32) -> &Name {
        &self.all[id as usize]
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.all.iter()
    }
}
