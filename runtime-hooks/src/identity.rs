//! Which instruction is which: LLVM frees instructions and hands out their addresses again at once, so an
//! address means an id only from the moment it is first seen until its destructor runs.

use metaloc_record::{BlockId, InstId, Lookup, Object, Opcode, Operand};

use crate::address_table::AddressTable;
use crate::ffi::{self, Ptr};
use crate::mirror::FunctionKey;
use crate::notes::{self, Notes};

/// All instructions ever seen, alive or not.
pub struct Identities {
    alive: AddressTable,
    known: Vec<Packed>,
    opcodes: [Opcode; 256],
}

/// What is remembered of an instruction after its death.
#[derive(Clone, Copy)]
pub struct Known {
    /// Its address, null once destroyed.
    pub address: Ptr,
    /// The function that it was last seen in.
    pub function: Option<FunctionKey>,
    /// The block of that function that it was in when that was last read.
    pub block: BlockId,
    /// What it is.
    pub opcode: Opcode,
}

/// [`Known`] in sixteen bytes: there is one for every instruction ever made, and blocks that are read again look at
/// those of all their instructions, so that four of them on a cache line are worth the shifts.
#[derive(Clone, Copy)]
struct Packed {
    /// The address below, which user space has at most 56 bits of, and the opcode on top.
    address_and_opcode: u64,
    /// [`Packed::NOWHERE`] for none.
    function: u32,
    block: BlockId,
}

impl Packed {
    const NOWHERE: u32 = u32::MAX;
    const ADDRESS: u64 = (1 << 56) - 1;

    fn new(known: Known) -> Packed {
        let address = known.address as u64;
        debug_assert!(address <= Packed::ADDRESS);
        Packed {
            address_and_opcode: address & Packed::ADDRESS | u64::from(known.opcode.0) << 56,
            function: known.function.map_or(Packed::NOWHERE, |function| function.0),
            block: known.block,
        }
    }

    fn unpack(self) -> Known {
        Known {
            address: (self.address_and_opcode & Packed::ADDRESS) as usize as Ptr,
            function: (self.function != Packed::NOWHERE).then_some(FunctionKey(self.function)),
            block: self.block,
            opcode: Opcode((self.address_and_opcode >> 56) as u8),
        }
    }

    /// Says where it was seen. What is unchanged is not written: it would have to go back to memory.
    fn set_place(&mut self, function: FunctionKey, block: BlockId) {
        if (self.function, self.block) != (function.0, block) {
            (self.function, self.block) = (function.0, block);
        }
    }

    fn die(&mut self) {
        self.address_and_opcode &= !Packed::ADDRESS;
    }
}

// SAFETY: the addresses are compared, and followed only under the rules of `cpp/shim.h`.
unsafe impl Send for Identities {}

impl Identities {
    /// An empty table that translates the opcodes of the LLVM that we are loaded into.
    pub fn new() -> Self {
        let opcodes = std::array::from_fn(|number| {
            // SAFETY: getOpcodeName accepts any number and returns a literal.
            let name = unsafe { ffi::metaloc_opcode_name(number as u32).text() };
            Opcode::from_name(&name)
        });
        Identities { alive: AddressTable::default(), known: Vec::new(), opcodes }
    }

    /// A constructor runs at this address: whatever was there before is gone.
    pub fn create(&mut self, inst: Ptr, opcode: u32, function: Option<FunctionKey>) -> InstId {
        let id = InstId(self.known.len() as u32);
        let opcode = self.opcode(opcode as u8);
        self.known.push(Packed::new(Known { address: inst, function, block: BlockId::NOWHERE, opcode }));
        self.alive.put(inst, id);
        id
    }

    /// The id of an instruction that was read in a block, given one if it has none yet.
    pub fn meet(&mut self, inst: Ptr, opcode: u8, function: FunctionKey, block: BlockId) -> InstId {
        let id = match self.get(inst) {
            Some(id) => id,
            None => self.create(inst, u32::from(opcode), Some(function)),
        };
        self.known[id.index()].set_place(function, block);
        id
    }

    /// The id of an instruction, if it has one.
    pub fn get(&self, inst: Ptr) -> Option<InstId> {
        self.alive.get(inst)
    }

    /// The destructor runs: the address means nothing from now on.
    pub fn erase(&mut self, inst: Ptr) -> Option<InstId> {
        let id = self.get(inst)?;
        self.alive.clear(inst);
        self.known[id.index()].die();
        Some(id)
    }

    /// What is remembered of an instruction.
    pub fn known(&self, id: InstId) -> Known {
        self.known[id.index()].unpack()
    }

    /// The instruction is now in this function.
    pub fn set_function(&mut self, id: InstId, function: FunctionKey) {
        self.known[id.index()].function = function.0;
    }

    /// The stable opcode for LLVM's number.
    pub fn opcode(&self, number: u8) -> Opcode {
        self.opcodes[number as usize]
    }
}

/// The instructions of one function, as it was when it was last read.
#[derive(Clone, Copy)]
pub struct LookupIn<'a> {
    /// All instructions.
    pub identities: &'a Identities,
    /// The function.
    pub function: FunctionKey,
    /// What the run took out of its blocks.
    pub notes: &'a Notes,
}

impl LookupIn<'_> {
    /// The address of an instruction that is alive.
    fn alive(&self, inst: InstId) -> Option<Ptr> {
        let address = self.identities.known(inst).address;
        (!address.is_null()).then_some(address)
    }
}

impl Lookup for LookupIn<'_> {
    fn home(&self, inst: InstId) -> Option<BlockId> {
        let known = self.identities.known(inst);
        (known.function == Some(self.function) && !known.address.is_null()).then_some(known.block)
    }

    fn operands(&self, inst: InstId) -> Vec<Operand> {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).map_or_else(Vec::new, |inst| unsafe { notes::operands_now(inst, self.identities) })
    }

    fn noted_operands(&self, inst: InstId) -> &[Operand] {
        self.notes.operands(inst)
    }

    fn users(&self, inst: InstId) -> Option<Vec<InstId>> {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).and_then(|inst| unsafe { notes::users_now(inst, self.identities) })
    }

    fn written(&self, inst: InstId) -> Option<Object> {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).and_then(|inst| unsafe { notes::written_now(inst, self.identities) })
    }

    fn noted_writes(&self, object: Object) -> Vec<InstId> {
        self.notes.writes(object).collect()
    }

    fn opcode(&self, inst: InstId) -> Opcode {
        self.identities.known(inst).opcode
    }

    fn must_have_location(&self, inst: InstId) -> bool {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).is_some_and(|inst| unsafe { ffi::metaloc_call_needs_location(inst) })
    }

    fn has_foreign_scope(&self, inst: InstId) -> bool {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).is_some_and(|inst| unsafe { ffi::metaloc_inst_has_foreign_scope(inst) })
    }

    fn is_described(&self, inst: InstId) -> bool {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).is_some_and(|inst| unsafe { ffi::metaloc_inst_is_described(inst) })
    }

    fn is_marker(&self, inst: InstId) -> bool {
        // SAFETY: not destroyed, so alive.
        self.alive(inst).is_some_and(|inst| unsafe { ffi::metaloc_inst_is_marker(inst) })
    }
}

impl std::fmt::Debug for LookupIn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookupIn").field("function", &self.function).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_what_was_known() {
        let address = 0x7fff_ffff_fff8_usize as Ptr;
        let known = Known { address, function: None, block: BlockId::NOWHERE, opcode: Opcode(255) };
        let mut packed = Packed::new(known);
        assert_eq!(size_of::<Packed>(), 16);
        let same = packed.unpack();
        assert_eq!(
            (same.address, same.function, same.block, same.opcode),
            (address, None, known.block, Opcode(255))
        );
        packed.set_place(FunctionKey(7), BlockId(9));
        packed.die();
        let dead = packed.unpack();
        assert!(dead.address.is_null());
        assert_eq!((dead.function, dead.block, dead.opcode), (Some(FunctionKey(7)), BlockId(9), Opcode(255)));
    }
}
