//! Newtypes for everything a record mentions. They are dense and start at zero, so that tables are vectors.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// An instruction, unique in the whole process: an address that LLVM frees and reuses gets a new id.
    InstId
}
id! {
    /// A basic block, unique within its function and never reused there.
    BlockId
}
id! {
    /// A debug scope in a [`crate::LocationTable`].
    ScopeId
}
id! {
    /// An interned call stack: the code of the pass (and of helpers) that an event came from.
    StackId
}
id! {
    /// A debug location in a [`crate::LocationTable`]; [`LocId::NONE`] is an instruction without one.
    LocId
}

impl LocId {
    /// No location attached. Not the same as a location with line 0.
    pub const NONE: LocId = LocId(0);

    /// True unless this is [`LocId::NONE`].
    pub fn is_some(self) -> bool {
        self != LocId::NONE
    }
}

impl BlockId {
    /// A block that was in no function, or in a new one, when an event mentioned it.
    pub const NOWHERE: BlockId = BlockId(u32::MAX);
}
