//! Pseudo-random numbers for tests: always the same.

/// Numbers between 0 and 1, both excluded (Knuth's linear congruential generator, upper bits).
pub(crate) fn uniform() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}
