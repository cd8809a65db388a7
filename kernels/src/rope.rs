//! Rotary position embedding: what is rotated by which angle, on the host.
//!
//! Pair `i` of a head turns by `position × f_i` radians: `y1 = x1 cos − x2 sin`, `y2 = x2 cos + x1 sin`, both cosine and sine times
//! the attention factor. [`scaling`] says where the `f_i` come from, [`config`] reads that from a model's configuration, [`table`]
//! holds the frequencies as a kernel bakes them, [`axes`] gives pairs to the axes of multi-axis positions, [`turn`] and [`sincos`]
//! are the model of the kernel's own arithmetic from position to sine, [`mod@reference`] is the float64 reference, and [`big`] the
//! arithmetic below all of it. Nothing here depends on the platform's libm.

pub mod axes;
pub mod big;
pub mod config;
mod exact;
mod hf;
pub mod real;
pub mod reference;
pub mod scaling;
pub mod sincos;
pub mod table;
pub mod turn;

/// How the angle of a pair is computed. The two differ by up to 0.04 near position 131 072: results are compared with a reference
/// of the same convention only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Angles {
    /// `position × frequency` in fixed point, right for every position.
    Exact,
    /// What transformers computes: the frequency in f32, the position in f32, their product rounded to f32.
    HfF32,
}

/// Which two elements of the rotated part form a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// `(i, i + d/2)`: NeoX, Llama in transformers, `rotate_half`.
    Half,
    /// `(2i, 2i + 1)`: GPT-J, the complex form.
    Interleaved,
}

impl Pairing {
    /// The two elements of `pair` among `pairs`, counted from the first rotated element.
    pub const fn members(self, pair: usize, pairs: usize) -> (usize, usize) {
        match self {
            Pairing::Half => (pair, pair + pairs),
            Pairing::Interleaved => (2 * pair, 2 * pair + 1),
        }
    }
}

/// Which way to rotate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The embedding.
    Forward,
    /// Its gradient: the sine negated, the attention factor kept.
    Backward,
}
