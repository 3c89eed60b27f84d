//! What an instruction of the IR means, in the symbolic domain. The meaning of each was judged against
//! compiled code (see `tests/ir_semantics.rs`).
//!
//! Where LLVM speaks of poison, the model says undefined at once: a promise (`nsw`, `inbounds`, a shift count
//! below the width) holds where the instruction runs. That is what C says of the operations that clang -O0
//! makes them from; for IR in which other passes have moved instructions it would assume too much.

use super::lower::Context;
use super::origin::{Origin, block_operation};
use crate::bits::Bits;
use crate::domain::{Domain, Symbolic};
use crate::expr::ExprId;
use crate::graph::{Assumption, Point};
use crate::ir::{BinaryOperator, Cast, Operation, Predicate, Step, Type, Typed, Value, step};
use crate::region::{Region, address_name};
use metaloc_proof::AssumptionKind;
use std::collections::HashMap;

/// Largest memset or memcpy that is written out.
const BLOCK_BYTES: u64 = 256;

/// One segment while it runs.
pub(super) struct Run<'a, 'r, 'd> {
    pub(super) context: &'a Context<'a>,
    pub(super) domain: &'r Symbolic<'d>,
    /// Values computed here.
    pub(super) local: HashMap<&'a str, ExprId>,
    pub(super) assumptions: Vec<Assumption>,
    /// The instruction that runs.
    pub(super) at: Point,
}

/// Why an instruction has no meaning here; without its place.
pub(super) type Refusal = String;

impl Run<'_, '_, '_> {
    fn assume(&mut self, kind: AssumptionKind, condition: ExprId) {
        self.assumptions.push(Assumption { condition, kind, at: self.at.clone() });
    }

    /// A value of a type.
    pub(super) fn value(&self, value: &Value, of: &Type) -> Result<ExprId, Refusal> {
        let width_bits = self.context.width_bits(of)?;
        let domain = self.domain;
        match value {
            Value::Local(name) => {
                self.context.check_type(name, of)?;
                let known = self.local.get(name.as_str()).copied();
                let known = known.or_else(|| self.context.frame_address(domain, name));
                Ok(known.unwrap_or_else(|| domain.variable(&format!("%{name}"), width_bits)))
            }
            Value::Constant(bits) if bits.width_bits() == width_bits => {
                Ok(domain.constant(width_bits, bits.value()))
            }
            Value::Unknown => Ok(domain.unknown(width_bits)),
            Value::Global(global) => self.address(global, 0),
            Value::Offset { global, bytes } => self.address(global, *bytes),
            Value::Constant(_) | Value::Other(_) => Err(format!("constant of type {of}")),
        }
    }

    fn typed(&self, typed: &Typed) -> Result<ExprId, Refusal> {
        self.value(&typed.value, &typed.of)
    }

    fn address(&self, global: &str, bytes: i64) -> Result<ExprId, Refusal> {
        let module = self.context.module;
        if module.global(global).is_none() {
            let why = module.why_unfollowed(global).map_or(String::new(), |why| format!(", {why}"));
            return Err(format!("address of @{global}{why}"));
        }
        let start = self.domain.variable(&address_name(global), self.context.pointer_bits());
        if bytes == 0 {
            return Ok(start);
        }
        Ok(self.domain.add(start, self.domain.constant(self.context.pointer_bits(), bytes as u128)))
    }

    /// Runs an instruction that is neither a phi node nor the end of a block nor an event; gives its result.
    pub(super) fn operation(&mut self, operation: &Operation) -> Result<Option<ExprId>, Refusal> {
        match operation {
            Operation::Binary { operator, nsw, nuw, left, right } => {
                let (one, other) = (self.typed(left)?, self.value(right, &left.of)?);
                self.binary(*operator, *nsw, *nuw, one, other).map(Some)
            }
            Operation::Compare { predicate, left, right } => {
                let (one, other) = (self.typed(left)?, self.value(right, &left.of)?);
                Ok(Some(self.compare(*predicate, one, other)))
            }
            Operation::Float { operation, operands, to } => self.float(*operation, operands, to).map(Some),
            Operation::Cast { cast, operand, to } => self.cast(*cast, operand, to).map(Some),
            Operation::Select { condition, then, otherwise } => {
                let condition = self.value(condition, &Type::Int(1))?;
                let (one, other) = (self.typed(then)?, self.value(otherwise, &then.of)?);
                Ok(Some(self.domain.choose(condition, one, other)))
            }
            Operation::Address { inbounds, of, base, indices } => {
                self.element(*inbounds, of, base, indices).map(Some)
            }
            Operation::Load { of, pointer } => self.load(of, pointer).map(Some),
            Operation::Store { stored, pointer } => {
                let value = self.typed(stored)?;
                self.whole_bytes(&stored.of)?;
                let address = self.value(pointer, &Type::Pointer)?;
                self.store(pointer, address, value);
                Ok(None)
            }
            // Its address is a constant distance from the frame's; see `Context::frame_address`.
            Operation::Alloca { .. } => Ok(None),
            Operation::Call { callee, arguments, .. } if block_operation(callee, arguments).is_some() => {
                self.block_operation(callee, arguments)?;
                Ok(None)
            }
            Operation::Call { callee, .. } => Err(format!("call of {callee}")),
            Operation::Unsupported(what) => Err(what.clone()),
            other => Err(format!("{other:?} in the middle of a block")),
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        nsw: bool,
        nuw: bool,
        left: ExprId,
        right: ExprId,
    ) -> Result<ExprId, Refusal> {
        let domain = self.domain;
        let width_bits = domain.width_bits(left);
        let in_range =
            |domain: &Symbolic| domain.ult(right, domain.constant(width_bits, u128::from(width_bits)));
        let result = match operator {
            BinaryOperator::Add => domain.add(left, right),
            BinaryOperator::Sub => domain.sub(left, right),
            BinaryOperator::Mul => domain.mul(left, right),
            BinaryOperator::And => domain.and(left, right),
            BinaryOperator::Or => domain.or(left, right),
            BinaryOperator::Xor => domain.xor(left, right),
            BinaryOperator::Shl | BinaryOperator::LShr | BinaryOperator::AShr => {
                self.assume(AssumptionKind::ShiftInRange, in_range(domain));
                match operator {
                    BinaryOperator::Shl => domain.shl(left, right),
                    BinaryOperator::LShr => domain.lshr(left, right),
                    _ => domain.ashr(left, right),
                }
            }
            BinaryOperator::UDiv | BinaryOperator::URem => {
                self.assume(AssumptionKind::DivisionDefined, domain.not(domain.is_zero(right)));
                if operator == BinaryOperator::UDiv {
                    domain.udiv(left, right)
                } else {
                    domain.urem(left, right)
                }
            }
            BinaryOperator::SDiv | BinaryOperator::SRem => {
                self.assume(AssumptionKind::DivisionDefined, domain.not(domain.is_zero(right)));
                let lowest = domain.constant(width_bits, 1 << (width_bits - 1));
                let minus_one = domain.constant(width_bits, u128::MAX);
                let overflows = domain.and(domain.equals(left, lowest), domain.equals(right, minus_one));
                self.assume(AssumptionKind::DivisionDefined, domain.not(overflows));
                if operator == BinaryOperator::SDiv {
                    domain.sdiv(left, right)
                } else {
                    domain.srem(left, right)
                }
            }
        };
        for (promised, kind) in [(nsw, AssumptionKind::NoSignedWrap), (nuw, AssumptionKind::NoUnsignedWrap)] {
            if promised && let Some(fits) = fits(domain, operator, kind, left, right, result) {
                self.assume(kind, fits);
            }
        }
        Ok(result)
    }

    fn compare(&self, predicate: Predicate, left: ExprId, right: ExprId) -> ExprId {
        let domain = self.domain;
        match predicate {
            Predicate::Eq => domain.equals(left, right),
            Predicate::Ne => domain.not(domain.equals(left, right)),
            Predicate::Ult => domain.ult(left, right),
            Predicate::Ugt => domain.ult(right, left),
            Predicate::Ule => domain.not(domain.ult(right, left)),
            Predicate::Uge => domain.not(domain.ult(left, right)),
            Predicate::Slt => domain.slt(left, right),
            Predicate::Sgt => domain.slt(right, left),
            Predicate::Sle => domain.not(domain.slt(right, left)),
            Predicate::Sge => domain.not(domain.slt(left, right)),
        }
    }

    fn cast(&self, cast: Cast, operand: &Typed, to: &Type) -> Result<ExprId, Refusal> {
        let (from_bits, to_bits) = (self.context.width_bits(&operand.of)?, self.context.width_bits(to)?);
        let value = self.typed(operand)?;
        let domain = self.domain;
        let resized = |value| {
            if to_bits < from_bits { domain.low(value, to_bits) } else { domain.zero_extend(value, to_bits) }
        };
        match cast {
            Cast::Trunc if to_bits < from_bits => Ok(domain.low(value, to_bits)),
            Cast::ZExt if to_bits > from_bits => Ok(domain.zero_extend(value, to_bits)),
            Cast::SExt if to_bits > from_bits => Ok(domain.sign_extend(value, to_bits)),
            Cast::PtrToInt | Cast::IntToPtr => Ok(resized(value)),
            Cast::Bitcast if to_bits == from_bits => Ok(value),
            _ => Err(format!("cast of {} to {to}", operand.of)),
        }
    }

    /// `getelementptr`.
    fn element(
        &mut self,
        inbounds: bool,
        of: &Type,
        base: &Value,
        indices: &[Typed],
    ) -> Result<ExprId, Refusal> {
        let domain = self.domain;
        let pointer_bits = self.context.pointer_bits();
        let start = self.value(base, &Type::Pointer)?;
        let (mut address, mut within) = (start, None);
        for index in indices {
            let constant = match &index.value {
                Value::Constant(bits) => *bits,
                _ => Bits::new(1, 0),
            };
            let (scale, next) = step(&self.context.module.layout, within.as_ref(), of, &constant)?;
            address = match scale {
                Step::Fixed(0) => address,
                Step::Fixed(bytes) => domain.add(address, domain.constant(pointer_bits, u128::from(bytes))),
                Step::Scaled(size) => {
                    let number = self.typed(index)?;
                    if inbounds {
                        self.assume_distance(number, size);
                    }
                    let number = if domain.width_bits(number) > pointer_bits {
                        domain.low(number, pointer_bits)
                    } else {
                        domain.sign_extend(number, pointer_bits)
                    };
                    let size = domain.constant(pointer_bits, u128::from(size));
                    let bytes = domain.mul(number, size);
                    domain.add(address, bytes)
                }
            };
            within = Some(next);
        }
        if inbounds {
            self.assume_in_object(base, address, 0);
        }
        Ok(address)
    }

    /// So many times a size is a number of bytes that an address can differ by, and not one that wraps around: a part of
    /// what `inbounds` promises.
    fn assume_distance(&mut self, number: ExprId, size: u64) {
        let domain = self.domain;
        let pointer_bits = self.context.pointer_bits();
        let size_bits = u64::BITS - size.leading_zeros();
        if size == 0 || domain.signed_bits(number) + size_bits <= pointer_bits {
            return;
        }
        let width_bits = domain.width_bits(number);
        let (half, most) = (1i128 << (pointer_bits - 1), (1i128 << (width_bits - 1)) - 1);
        let limit = |bytes: i128| {
            domain.constant(width_bits, (bytes / i128::from(size)).clamp(-most - 1, most) as u128)
        };
        let too_far = domain.or(domain.slt(limit(half - 1), number), domain.slt(number, limit(-half)));
        self.assume(AssumptionKind::InBounds, domain.not(too_far));
    }

    /// An address of so many bytes lies in the object that its pointer was made from.
    fn assume_in_object(&mut self, pointer: &Value, address: ExprId, bytes: u64) {
        let domain = self.domain;
        let Origin::In(Region::Global(global)) = self.context.origins.of(pointer) else { return };
        let Some(global) = self.context.module.global(&global) else { return };
        let pointer_bits = self.context.pointer_bits();
        let start = domain.variable(&address_name(&global.symbol), pointer_bits);
        let offset = domain.sub(address, start);
        let room = match global.size_bytes.checked_sub(bytes) {
            Some(room) => domain.constant(pointer_bits, u128::from(room)),
            // No access of this size is defined.
            None => return self.assume(AssumptionKind::InBounds, domain.bit(false)),
        };
        self.assume(AssumptionKind::InBounds, domain.not(domain.ult(room, offset)));
    }

    fn whole_bytes(&self, of: &Type) -> Result<u32, Refusal> {
        let width_bits = self.context.width_bits(of)?;
        if matches!(width_bits, 8 | 16 | 32 | 64) {
            Ok(width_bits / 8)
        } else {
            Err(format!("{of} in memory"))
        }
    }

    fn load(&mut self, of: &Type, pointer: &Value) -> Result<ExprId, Refusal> {
        let bytes = self.whole_bytes(of)?;
        if let Some(known) = self.constant(pointer, bytes) {
            return Ok(self.domain.constant(8 * bytes, known));
        }
        let address = self.value(pointer, &Type::Pointer)?;
        Ok(self.read(pointer, address, bytes))
    }

    fn read(&mut self, pointer: &Value, address: ExprId, bytes: u32) -> ExprId {
        self.context.select_region(pointer);
        self.assume_in_object(pointer, address, u64::from(bytes));
        self.domain.load(address, bytes).expect("the symbolic domain does not fault")
    }

    fn store(&mut self, pointer: &Value, address: ExprId, value: ExprId) {
        self.context.select_region(pointer);
        self.assume_in_object(pointer, address, u64::from(self.domain.width_bits(value) / 8));
        self.domain.store(address, value).expect("the symbolic domain does not fault");
    }

    /// Bytes of a constant global at a constant place.
    fn constant(&self, pointer: &Value, bytes: u32) -> Option<u128> {
        let (global, start) = match pointer {
            Value::Global(global) => (global, 0),
            Value::Offset { global, bytes } => (global, usize::try_from(*bytes).ok()?),
            _ => return None,
        };
        let known = self.context.module.global(global)?.constant.as_ref()?;
        let known = known.get(start..start.checked_add(bytes as usize)?)?;
        Some(known.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte)))
    }

    /// memset and memcpy of a small constant size, written out. The source and the destination of a memcpy
    /// are equal or do not overlap, so all of it can be read first.
    fn block_operation(&mut self, callee: &str, arguments: &[Typed]) -> Result<(), Refusal> {
        let [destination, from, size, volatile] = arguments else { return Err(format!("call of {callee}")) };
        let Value::Constant(size) = size.value else { return Err(format!("{callee} of unknown size")) };
        if size.value() > u128::from(BLOCK_BYTES) || volatile.value != Value::Constant(Bits::bit(false)) {
            return Err(format!("{callee} of {} bytes", size.value()));
        }
        let copies = callee.starts_with("llvm.memcpy");
        let filler = self.typed(from)?;
        let to = self.typed(destination)?;
        let domain = self.domain;
        let at = |start: ExprId, offset: u64| {
            domain.add(start, domain.constant(domain.width_bits(start), u128::from(offset)))
        };
        let mut pieces = Vec::new();
        let mut offset = 0;
        while offset < size.value() as u64 {
            let bytes = [8, 4, 2, 1].into_iter().find(|bytes| offset + bytes <= size.value() as u64);
            let bytes = bytes.unwrap_or(1);
            let value = if copies {
                self.read(&from.value, at(filler, offset), bytes as u32)
            } else {
                domain.join(&vec![filler; bytes as usize])
            };
            pieces.push((offset, value));
            offset += bytes;
        }
        for (offset, value) in pieces {
            self.store(&destination.value, at(to, offset), value);
        }
        Ok(())
    }
}

/// The bit that says that a result is that of the exact operation on signed or unsigned numbers; nothing for
/// operations whose promise is not used.
fn fits(
    domain: &Symbolic,
    operator: BinaryOperator,
    kind: AssumptionKind,
    left: ExprId,
    right: ExprId,
    result: ExprId,
) -> Option<ExprId> {
    let width_bits = domain.width_bits(left);
    let wide = match operator {
        BinaryOperator::Add | BinaryOperator::Sub => width_bits + 1,
        BinaryOperator::Mul => 2 * width_bits,
        _ => return None,
    };
    let extend = |word: ExprId| match kind {
        AssumptionKind::NoSignedWrap => domain.sign_extend(word, wide),
        _ => domain.zero_extend(word, wide),
    };
    let exact = match operator {
        BinaryOperator::Add => domain.add(extend(left), extend(right)),
        BinaryOperator::Sub => domain.sub(extend(left), extend(right)),
        _ => domain.mul(extend(left), extend(right)),
    };
    Some(domain.equals(exact, extend(result)))
}
