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

/// Numbers of both formats at corners: zeros, the smallest and the largest ones, infinities, NaNs of both kinds, halves
/// that are rounded either way, integers next to those that no longer fit.
const SINGLES: [u32; 26] = [
    0,
    1,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0x3f80_0001,
    0x3fc0_0000,
    0x4020_0000,
    0x4060_0000,
    0x40a0_0000,
    0x4b00_0001,
    0x4b80_0000,
    0x4eff_ffff,
    0x4f00_0000,
    0x4f00_0001,
    0x4f7f_ffff,
    0x5eff_ffff,
    0x5f00_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fa0_1234,
    0x7fc0_0000,
    0x7fc0_4321,
    0x7fff_ffff,
    0x3eaa_aaab,
];
const DOUBLES: [u64; 26] = [
    0,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_1000_0000,
    0x3ff0_0000_3000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41df_ffff_ffe0_0000,
    0x41e0_0000_0000_0000,
    0x41e0_0000_0010_0000,
    0x43df_ffff_ffff_ffff,
    0x43e0_0000_0000_0000,
    0x47ef_ffff_efff_ffff,
    0x47ef_ffff_f000_0000,
    0x3690_0000_0000_0000,
    0x36a0_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x7ff4_5678_9abc_def0,
    0x7ff8_0000_0000_0000,
    0x7ff8_0000_2468_ace0,
    0x3fd5_5555_5555_5555,
];

impl Random {
    /// A vector of numbers, of one format: corners, some with a bit of the fraction changed, and numbers of any size.
    pub(super) fn floats(&mut self) -> u128 {
        let double = self.percent(50);
        let lanes: Vec<u64> = (0..if double { 2 } else { 4 }).map(|_| self.float(double)).collect();
        let lane_bits = if double { 64 } else { 32 };
        lanes.iter().rev().fold(0, |vector, lane| vector << lane_bits | u128::from(*lane))
    }

    fn float(&mut self, double: bool) -> u64 {
        let negative = self.next() >> 63;
        let random = self.next();
        match (double, self.below(5)) {
            (true, 0) => random,
            (false, 0) => random & 0xffff_ffff,
            // Near 1: sums and products of these are rounded.
            (true, 1) => negative << 63 | (0x3fc + random % 8) << 52 | random >> 12,
            (false, 1) => negative << 31 | (0x7c + random % 8) << 23 | random >> 41,
            (true, _) => negative << 63 | self.pick(&DOUBLES),
            (false, _) => negative << 31 | u64::from(self.pick(&SINGLES)),
        }
    }
}
