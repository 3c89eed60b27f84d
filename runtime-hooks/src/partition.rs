//! Which of a run's events concern which function, for passes that change several.

use std::collections::HashMap;

use metaloc_record::Event;

use crate::identity::Identities;
use crate::mirror::FunctionKey;

/// The events of a run by the function that their instruction is in, or last was.
#[derive(Default)]
pub struct Parts(HashMap<FunctionKey, Vec<Event>>);

impl Parts {
    /// Splits the events, keeping their order.
    pub fn new(events: &[Event], identities: &Identities) -> Self {
        let mut parts: HashMap<_, Vec<Event>> = HashMap::new();
        for event in events {
            if let Some(function) = identities.known(event.kind.inst()).function {
                parts.entry(function).or_default().push(*event);
            }
        }
        Parts(parts)
    }

    /// The events of one function.
    pub fn of(&self, function: FunctionKey) -> &[Event] {
        self.0.get(&function).map_or(&[], Vec::as_slice)
    }
}
