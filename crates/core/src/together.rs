use crate::{CallId, GroupId, MessageId, View};
use std::collections::HashSet;

impl View {
    /// Some of its messages, and what must not be parted from them: the other records of an answer, calls and their results.
    pub fn together(&self, messages: &HashSet<MessageId>) -> Vec<MessageId> {
        let entries = self.entries();
        let mut chosen: Vec<bool> =
            entries.iter().map(|entry| messages.contains(&entry.message.id)).collect();
        loop {
            let mut calls: HashSet<&CallId> = HashSet::new();
            let mut groups: HashSet<&GroupId> = HashSet::new();
            for (entry, _) in entries.iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
                calls.extend(entry.message.calls().map(|call| &call.id));
                calls.extend(entry.message.results().map(|result| &result.call));
                groups.extend(&entry.message.group);
            }
            let mut grew = false;
            for (entry, chosen) in entries.iter().zip(&mut chosen).filter(|(_, chosen)| !**chosen) {
                let message = &entry.message;
                *chosen = message.group.as_ref().is_some_and(|group| groups.contains(group))
                    || message.calls().any(|call| calls.contains(&call.id))
                    || message.results().any(|result| calls.contains(&result.call));
                grew |= *chosen;
            }
            if !grew {
                break;
            }
        }
        let chosen = entries.iter().zip(chosen).filter(|(_, chosen)| *chosen);
        chosen.map(|(entry, _)| entry.message.id.clone()).collect()
    }
}
