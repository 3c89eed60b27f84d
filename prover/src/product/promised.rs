//! Extensions of products that a defined source promises not to overflow: `sext(i * n)` is `sext(i) * sext(n)` because
//! the source says so, in these words. A solver is asked about nothing but the words: that the product of two numbers
//! of 32 bits fits is more than it finds out in time.

use super::assumed::Assumed;
use super::triple::{Context, Cost, Hypotheses, Lemma};
use crate::bits::Bits;
use crate::expr::{Arena, CommutativeOp, ExprId, Node as Expr};
use crate::smt::SmtError;

impl Context<'_> {
    /// Lemmas of this kind about some terms. Of each it is asked whether it follows from those promises that say it,
    /// perhaps under a condition, and from what is known of indices.
    pub(super) fn promised_products(
        &mut self,
        name: &str,
        assumed: &mut Assumed,
        hypotheses: &Hypotheses,
        terms: &[ExprId],
    ) -> Result<Vec<Lemma>, SmtError> {
        let mut shown = Vec::new();
        for term in terms {
            let Some(value) = spread_product(self.arena, *term) else { continue };
            // As the promise is written by now.
            let value = assumed.rewrite(self.arena, &mut self.normaliser, value);
            let lemma = self.equality(*term, value);
            let goal = self.normaliser.normal(self.arena, lemma.goal);
            let says = |bit: &ExprId| self.arena.reachable(&[*bit]).contains(&goal);
            let promises: Vec<ExprId> = hypotheses.promised().filter(|bit| says(bit)).collect();
            if promises.is_empty() {
                continue;
            }
            let given = [hypotheses.up_to(Cost::Little, Cost::Little), promises].concat();
            let lemma = Lemma { goal, ..lemma };
            shown.extend(self.following(&format!("{name} products"), &given, vec![lemma])?);
        }
        Ok(shown)
    }
}

/// What an extension of a product of values, or of a sum with such a product, is if nothing overflows. Nothing for other
/// terms; nothing either for products of what is in memory, which are no addresses.
fn spread_product(arena: &mut Arena, id: ExprId) -> Option<ExprId> {
    let Expr::SignExtend { width_bits, of } = *arena.node(id) else { return None };
    let narrow = arena.width_bits(of);
    let (start, terms) = match arena.node(of) {
        Expr::Sum { constant, terms } => (*constant, terms.to_vec()),
        _ => (Bits::new(narrow, 0), vec![(1, of)]),
    };
    let factors = |arena: &Arena, term: ExprId| match arena.node(term) {
        Expr::Commutative(CommutativeOp::Product, factors) => Some(factors.to_vec()),
        _ => None,
    };
    let multiplied = terms.iter().any(|(_, term)| factors(arena, *term).is_some());
    let loaded = |part: ExprId| matches!(arena.node(part), Expr::Load { .. } | Expr::Store { .. });
    if !multiplied || arena.reachable(&[of]).into_iter().any(loaded) {
        return None;
    }
    let wide = |factor: Bits| Bits::new(width_bits, factor.signed() as u128);
    let mut spread = Vec::new();
    for (factor, term) in terms {
        let parts = factors(arena, term).unwrap_or_else(|| vec![term]);
        let parts: Vec<ExprId> = parts.iter().map(|part| arena.sign_extend(*part, width_bits)).collect();
        let term = match parts[..] {
            [single] => single,
            _ => arena.commutative(CommutativeOp::Product, &parts),
        };
        spread.push((wide(Bits::new(narrow, factor)).value(), term));
    }
    Some(arena.sum(wide(start), &spread))
}
