//! Reproducible random numbers (splitmix64) and values that meet corners: a failure is found again by its seed.

/// A generator.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True so many times in a hundred.
    pub(super) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A word that is often a corner of some width.
    pub(super) fn word(&mut self) -> u64 {
        const WIDTHS: [u32; 4] = [8, 16, 32, 64];
        let width = self.pick(&WIDTHS);
        let ones = u64::MAX >> (64 - width);
        match self.below(8) {
            0 => self.below(4) as u64,
            1 => ones,
            2 => 1 << (width - 1),
            3 => (1 << (width - 1)) - 1,
            4 => (1u64 << self.below(64)).wrapping_add(self.pick(&[0, 1, u64::MAX])),
            5 => (self.below(300) as u64).wrapping_sub(150),
            _ => self.next(),
        }
    }

    /// A vector: random, or lanes of corner values.
    pub(super) fn vector(&mut self) -> u128 {
        if self.percent(40) {
            return u128::from(self.next()) << 64 | u128::from(self.next());
        }
        let lane_bits = self.pick(&[8, 16, 32, 64]);
        (0..128 / lane_bits).fold(0, |vector, lane| {
            let value = u128::from(self.word()) & (u128::MAX >> (128 - lane_bits));
            vector | value << (lane * lane_bits)
        })
    }
}
