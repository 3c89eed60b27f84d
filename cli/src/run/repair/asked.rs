//! The prover's answers as repair asks for them.

use metaloc_proof::form::{At, Linear, PlaceForm};
use metaloc_proof::{Exact, Variable};
use metaloc_prover::product::locate::{self, LocateError, Locator};
use metaloc_repair::derive::Proved;
use metaloc_repair::schedule::{MachineStep, Question, SourceStep};
use std::ops::Range;

pub struct Asked(pub Locator);

impl Proved for Asked {
    type Error = LocateError;

    fn instructions(&self) -> Vec<Range<u64>> {
        self.0.instructions().to_vec()
    }

    fn address_bits(&self) -> u32 {
        self.0.address_bits()
    }

    fn variables(&self) -> Vec<Variable> {
        self.0.variables().to_vec()
    }

    fn edges(&self) -> usize {
        self.0.edges()
    }

    fn from(&self, edge: usize) -> usize {
        self.0.from(edge)
    }

    fn is_call(&self, edge: usize) -> bool {
        self.0.is_call(edge)
    }

    fn outlasts_calls(&self, register: &str) -> bool {
        self.0.outlasts_calls(register)
    }

    fn machine(&self, edge: usize) -> Vec<MachineStep> {
        let step = |position: &locate::MachinePosition| MachineStep {
            pc: position.pc,
            stores: position.stores,
            aside: position.aside,
        };
        self.0.machine(edge).iter().map(step).collect()
    }

    fn stores_at_end(&self, edge: usize) -> bool {
        self.0.stores_at_end(edge)
    }

    fn source(&self, edge: usize) -> Vec<SourceStep> {
        let all = self.0.source(edge);
        let step = |(number, position): (usize, &locate::SourcePosition)| {
            let place = position.location.as_ref();
            let place = place.map_or((0, 0), |place| (u64::from(place.line), u64::from(place.column)));
            let branches = position.branches.iter().map(|line| u64::from(*line)).collect();
            let block = self.0.steps(edge, number);
            let point = all.iter().position(|other| other.point == position.point).unwrap_or(number);
            SourceStep { place, point, stored: position.stored, round: position.round, block, branches }
        };
        all.iter().enumerate().map(step).collect()
    }

    fn is_bound(&self, edge: usize, source: usize, variable: usize) -> bool {
        self.0.is_bound(edge, source, variable)
    }

    fn ask(&mut self, question: Question, at: At) -> Result<bool, LocateError> {
        match question {
            Question::SameMemory => self.0.same_memory(at),
            Question::SurelySameMemory => self.0.surely_same_memory(at),
            Question::Reached => self.0.reached(at),
        }
    }

    fn reads(&mut self, edge: usize) -> Result<Vec<(usize, usize)>, LocateError> {
        self.0.reads(edge)
    }

    fn forms(&mut self, at: At, variable: usize) -> Result<Option<(Linear, Vec<PlaceForm>)>, LocateError> {
        self.0.forms(at, variable)
    }

    fn show(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        self.0.show(at, variable, value)
    }

    fn refute(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        self.0.refute(at, variable, value)
    }

    fn contradict(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        self.0.contradict(at, variable, value)
    }
}
