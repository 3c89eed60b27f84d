//! What instructions used and wrote to when a run took them out of their blocks: afterwards nobody can be asked.
//!
//! Instructions are taken out by the hundred thousand and few are asked about, so a note is two lists that grow;
//! they are sorted when the first question comes. A dead instruction is in no table of addresses any more, so operands
//! are kept by id.

use std::cell::OnceCell;

use metaloc_record::{InstId, Object, Operand};

use crate::ffi::{self, Ptr, RawObject, RawUses};
use crate::identity::Identities;

/// Operands are few; a use list may be long, and what is used that often belongs to nobody.
const MAX_USERS: usize = 16;

/// What is written to more often than this connects nobody with anybody.
const MAX_WRITES: usize = 64;

/// The notes of one run.
#[derive(Default)]
pub struct Notes {
    /// What was taken out, and where its operands end; they begin where those of the one before end.
    taken: Vec<(InstId, u32)>,
    operands: Vec<Operand>,
    writes: Vec<(Object, InstId)>,
    sorted: OnceCell<Sorted>,
}

/// Indices into `taken` and `writes`. What comes first there comes first here among equals.
#[derive(Default)]
struct Sorted {
    taken: Vec<(InstId, u32)>,
    writes: Vec<(Object, InstId)>,
}

impl Notes {
    /// Notes what an instruction uses that is being taken out of its block.
    ///
    /// # Safety
    /// The instruction is alive.
    pub unsafe fn take(&mut self, id: InstId, inst: Ptr, identities: &Identities) {
        // SAFETY: alive, as the caller vouches.
        let uses = unsafe { ffi::metaloc_inst_uses(inst) };
        self.note(id, operands(&uses, identities), written(&uses, identities));
    }

    fn note(&mut self, id: InstId, operands: impl Iterator<Item = Operand>, written: Option<Object>) {
        self.operands.extend(operands);
        self.taken.push((id, self.operands.len() as u32));
        self.writes.extend(written.map(|object| (object, id)));
        self.sorted.take();
    }

    /// The operands of an instruction when it was first taken out.
    pub fn operands(&self, inst: InstId) -> &[Operand] {
        let taken = &self.sorted().taken;
        let at = taken.partition_point(|(id, _)| *id < inst);
        let Some((_, index)) = taken.get(at).filter(|(id, _)| *id == inst) else { return &[] };
        let index = *index as usize;
        let start = if index == 0 { 0 } else { self.taken[index - 1].1 };
        &self.operands[start as usize..self.taken[index].1 as usize]
    }

    /// The instructions that were taken out and wrote to an object, in order; none if there are many.
    pub fn writes(&self, object: Object) -> impl Iterator<Item = InstId> {
        let writes = &self.sorted().writes;
        let start = writes.partition_point(|(of, _)| *of < object);
        let end = writes.partition_point(|(of, _)| *of <= object);
        let writes = if end - start > MAX_WRITES { &[] } else { &writes[start..end] };
        writes.iter().map(|(_, inst)| *inst)
    }

    /// A run begins anew. Keeps the room.
    pub fn clear(&mut self) {
        self.taken.clear();
        self.operands.clear();
        self.writes.clear();
        self.sorted.take();
    }

    fn sorted(&self) -> &Sorted {
        self.sorted.get_or_init(|| {
            let mut taken: Vec<(InstId, u32)> = self.taken.iter().map(|(id, _)| *id).zip(0..).collect();
            taken.sort_unstable();
            let mut writes = self.writes.clone();
            writes.sort_by_key(|(object, _)| *object);
            Sorted { taken, writes }
        })
    }
}

/// What a live instruction uses.
///
/// # Safety
/// The instruction is alive.
pub unsafe fn operands_now(inst: Ptr, identities: &Identities) -> Vec<Operand> {
    // SAFETY: alive, as the caller vouches.
    operands(&unsafe { ffi::metaloc_inst_uses(inst) }, identities).collect()
}

/// What a live instruction writes to.
///
/// # Safety
/// The instruction is alive.
pub unsafe fn written_now(inst: Ptr, identities: &Identities) -> Option<Object> {
    // SAFETY: alive, as the caller vouches.
    written(&unsafe { ffi::metaloc_inst_uses(inst) }, identities)
}

/// The instructions that use a live one; `None` if there are many.
///
/// # Safety
/// The instruction is alive.
pub unsafe fn users_now(inst: Ptr, identities: &Identities) -> Option<Vec<InstId>> {
    let mut users = [std::ptr::null(); MAX_USERS];
    // SAFETY: alive, as the caller vouches; the shim writes at most as many as there is room for.
    let count = unsafe { ffi::metaloc_inst_users(inst, users.as_mut_ptr(), users.len()) };
    let users = users.get(..count)?;
    Some(users.iter().filter_map(|user| identities.get(*user)).collect())
}

fn operands(uses: &RawUses, identities: &Identities) -> impl Iterator<Item = Operand> {
    uses.operands().iter().map(|operand| if operand.is_null() { None } else { identities.get(*operand) })
}

fn written(uses: &RawUses, identities: &Identities) -> Option<Object> {
    match uses.written()? {
        RawObject::Inst(inst) => identities.get(inst).map(Object::Inst),
        RawObject::Argument(number) => Some(Object::Argument(number)),
        RawObject::Global(name) => Some(Object::Global(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_note_of_an_instruction_counts() {
        let (a, b) = (InstId(7), InstId(3));
        let object = Object::Argument(1);
        let mut notes = Notes::default();
        notes.note(a, [Some(b), None].into_iter(), Some(object));
        notes.note(b, [].into_iter(), Some(Object::Inst(a)));
        assert_eq!(notes.operands(a), [Some(b), None]);
        notes.note(a, [None, Some(a)].into_iter(), None);
        notes.note(InstId(5), [Some(a)].into_iter(), Some(object));
        assert_eq!(notes.operands(a), [Some(b), None]);
        assert_eq!(notes.operands(b), []);
        assert_eq!(notes.operands(InstId(5)), [Some(a)]);
        assert_eq!(notes.operands(InstId(6)), []);
        assert_eq!(notes.writes(object).collect::<Vec<_>>(), [a, InstId(5)]);
        assert_eq!(notes.writes(Object::Argument(0)).count(), 0);
        for many in 100..100 + MAX_WRITES as u32 {
            notes.note(InstId(many), [].into_iter(), Some(object));
        }
        assert_eq!(notes.writes(object).count(), 0, "too many");
        assert_eq!(notes.writes(Object::Inst(a)).count(), 1);
        notes.clear();
        assert_eq!(notes.operands(a), []);
        assert_eq!(notes.writes(object).count(), 0);
    }
}
