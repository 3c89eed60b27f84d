//! The classes of obligation that a proof consists of. A proof needs all of them; leaving one out is for tests
//! that show what it is there for, and what comes of that is not a proof.

/// A class of obligation; `certify` says what each shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Class {
    Precondition,
    Correlation,
    Preservation,
    Access,
    Coverage,
    Satisfiable,
    Observable,
    Event,
    /// No cycle of the product on which the source stays where it is.
    Progress,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 9] = [
        Class::Precondition,
        Class::Correlation,
        Class::Preservation,
        Class::Access,
        Class::Coverage,
        Class::Satisfiable,
        Class::Observable,
        Class::Event,
        Class::Progress,
    ];
}

/// What has to be shown: all of it, but in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Required {
    left_out: Option<Class>,
}

impl Required {
    /// Everything but one class. What is found with this is not a proof.
    pub fn without(class: Class) -> Required {
        Required { left_out: Some(class) }
    }

    /// Whether a class has to be shown.
    pub fn has(self, class: Class) -> bool {
        self.left_out != Some(class)
    }

    /// Whether nothing is left out.
    pub fn is_all(self) -> bool {
        self.left_out.is_none()
    }
}
