//! What variables and places of the machine are, as linear forms in integers: for guessing.

use super::super::triple::substituted;
use super::{At, LocateError, Locator};
use crate::bits::Bits;
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, BinaryOp, CommutativeOp, ExprId, Node as Expr};
use metaloc_proof as proof;
use metaloc_proof::form::{Change, Linear, PlaceForm};
use metaloc_proof::{Extend, Term};

impl Locator {
    /// What a variable is at a place, and what the machine's places are there. Nothing if it has no value.
    pub fn forms(
        &mut self,
        at: At,
        variable: usize,
    ) -> Result<Option<(Linear, Vec<PlaceForm>)>, LocateError> {
        let Some(target) = self.bound_value(at, variable) else { return Ok(None) };
        let mut assumed = self.guessing(at.edge)?;
        let machine = self.walk_machine(at.edge, at.machine);
        let mut form = |arena: &mut Arena, normaliser: &mut Normaliser, id: ExprId| {
            let rewritten = assumed.rewrite(arena, normaliser, id);
            linear(arena, rewritten)
        };
        let target = form(&mut self.arena, &mut self.normaliser, target);
        let mut places = Vec::new();
        for term in self.places() {
            let plain =
                proof::SumTerm { coefficient: proof::Word(1), term: term.clone(), extend: Extend::None };
            let before = self.term(&plain, self.address_bits)?;
            let after = substituted(&mut self.arena, &[&machine.values], before);
            let change = self.change(before, after);
            let form = form(&mut self.arena, &mut self.normaliser, after);
            places.extend(form.map(|form| PlaceForm { term, form, change }));
        }
        self.edges[at.edge].guessing = Some(assumed);
        Ok(target.map(|target| (target, places)))
    }

    /// Whether a place can be computed back: a sum of itself and of nothing that may change, or an inverted one.
    fn change(&mut self, before: ExprId, after: ExprId) -> Change {
        let normal = self.normaliser.normal(&mut self.arena, after);
        if normal == before || after == before {
            return Change::Kept;
        }
        match self.arena.node(normal) {
            Expr::Sum { terms, .. } if terms.len() == 1 && terms[0].1 == before && terms[0].0 % 2 == 1 => {
                Change::Reversible
            }
            Expr::Commutative(CommutativeOp::Xor, parts) => {
                let others = parts.iter().filter(|part| **part != before);
                let constant = others.clone().all(|part| self.arena.as_constant(*part).is_some());
                if constant && others.count() + 1 == parts.len() { Change::Reversible } else { Change::New }
            }
            _ => Change::New,
        }
    }

    /// Places that a location may speak of.
    fn places(&self) -> Vec<Term> {
        const WIDE: [&str; 15] = [
            "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15",
        ];
        const NARROW: [&str; 7] = ["eax", "ecx", "edx", "ebx", "esi", "edi", "ebp"];
        let names: &[&str] = if self.address_bits == 64 { &WIDE } else { &NARROW };
        let width_bits = self.address_bits;
        let register =
            |name: &&str| proof::Place::Register { name: (*name).to_owned(), low_bit: 0, width_bits };
        let slot = |offset: &i64| proof::Place::StackSlot { offset_bytes: *offset, width_bits };
        let places = names.iter().map(register).chain(self.slots.iter().map(slot));
        let globals = &self.setting.problem.globals;
        places
            .map(|place| Term::Machine { place })
            .chain(globals.iter().map(|global| Term::Address { symbol: global.symbol.clone() }))
            .collect()
    }
}

/// A form in integers; nothing if the numbers are out of hand.
fn linear(arena: &Arena, id: ExprId) -> Option<Linear> {
    let mut form = Linear::default();
    add(arena, id, 1, &mut form, 0)?;
    form.terms.retain(|_, factor| *factor != 0);
    Some(form)
}

fn add(arena: &Arena, id: ExprId, factor: i128, form: &mut Linear, depth: u32) -> Option<()> {
    if depth > 64 {
        return None;
    }
    match arena.node(id) {
        Expr::Constant(bits) => {
            form.constant = form.constant.checked_add(bits.signed().checked_mul(factor)?)?;
            Some(())
        }
        Expr::Sum { constant, terms } => {
            form.constant = form.constant.checked_add(constant.signed().checked_mul(factor)?)?;
            let width_bits = constant.width_bits();
            for (coefficient, term) in terms.iter() {
                let coefficient = Bits::new(width_bits, *coefficient).signed();
                add(arena, *term, factor.checked_mul(coefficient)?, form, depth + 1)?;
            }
            Some(())
        }
        Expr::SignExtend { of, .. } | Expr::Extract { low_bit: 0, of, .. } => {
            add(arena, *of, factor, form, depth + 1)
        }
        Expr::Concat(parts) => match parts.as_ref() {
            [zeros, of] if arena.as_constant(*zeros).is_some_and(|bits| bits.value() == 0) => {
                add(arena, *of, factor, form, depth + 1)
            }
            _ => atom(id, factor, form),
        },
        Expr::Binary(BinaryOp::Shl, of, by) => match arena.as_constant(*by) {
            Some(by) if by.value() < 32 => {
                add(arena, *of, factor.checked_mul(1 << by.value())?, form, depth + 1)
            }
            _ => atom(id, factor, form),
        },
        _ => atom(id, factor, form),
    }
}

fn atom(id: ExprId, factor: i128, form: &mut Linear) -> Option<()> {
    let known = form.terms.entry(id.number()).or_default();
    *known = known.checked_add(factor)?;
    Some(())
}
