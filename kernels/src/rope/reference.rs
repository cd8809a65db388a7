//! The float64 reference of rotary embedding: one head rotated as the definition says.
//!
//! The angle of the exact convention is `position × frequency` in high precision; that of `hf_f32` is the f32 product
//! `f32(position) × inv_freq`, taken as an exact number from there on. Either is reduced to a turn in high precision, so that
//! sine and cosine are right to 4e-16 for every position of 64 bits.

use super::axes::AxisMap;
use super::big::{Big, inv_two_pi};
use super::table::FrequencyTable;
use super::{Angles, Direction, Pairing};

/// What to do with a head.
#[derive(Debug, Clone, Copy)]
pub struct Rotation<'a> {
    /// Frequencies of the pairs.
    pub table: &'a FrequencyTable,
    /// The axis of each pair; none where a token has one position.
    pub axes: Option<&'a AxisMap>,
    /// Convention of the angles.
    pub angles: Angles,
    /// Which elements form a pair.
    pub pairing: Pairing,
    /// Forward, or the gradient.
    pub direction: Direction,
    /// Index of the first rotated element of a head.
    pub offset: usize,
}

/// Arguments that do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RotationError {
    /// The rotated part reaches past the head.
    #[error("elements {offset} to {end} are rotated, but a head has {head}")]
    Head {
        /// First rotated element.
        offset: usize,
        /// One past the last rotated element.
        end: usize,
        /// Elements of the head.
        head: usize,
    },
    /// Not one position for each axis.
    #[error("{found} positions for {expected} axes")]
    Positions {
        /// Positions given.
        found: usize,
        /// Axes.
        expected: usize,
    },
    /// An axis map for another number of pairs.
    #[error("the axis map has {found} pairs, the frequency table {expected}")]
    Axes {
        /// Pairs of the map.
        found: usize,
        /// Pairs of the table.
        expected: usize,
    },
}

impl FrequencyTable {
    /// `(cos, sin)` of `pair` at `position`, without the factor on both; (1, 0) for a pair that does not exist.
    pub fn cos_sin(&self, pair: usize, position: i64, angles: Angles) -> (f64, f64) {
        let Some(frequency) = self.pairs().get(pair) else {
            return (1.0, 0.0);
        };
        let turns = match angles {
            Angles::Exact => {
                let magnitude = frequency.turns() * Big::from_u64(position.unsigned_abs());
                if position < 0 { -magnitude } else { magnitude }
            }
            Angles::HfF32 => {
                let angle = hf_angle(position, frequency.hf_f32());
                Big::from_f32(angle) * inv_two_pi()
            }
        };
        turns_cos_sin(turns)
    }
}

/// The f32 angle of transformers: the position as f32 times the frequency, each rounded once.
pub fn hf_angle(position: i64, frequency: f32) -> f32 {
    position as f32 * frequency
}

/// `(cos, sin)` of an angle in turns, right to 4e-16.
pub fn turns_cos_sin(turns: Big) -> (f64, f64) {
    let [low, high, ..] = turns.fraction(128);
    let turn = u128::from(high) << 64 | u128::from(low);
    // The nearest quarter, and the signed rest of at most an eighth, which f64 holds with its full precision.
    let quarter = turn.wrapping_add(1 << 125) >> 126;
    let rest = turn.wrapping_sub(quarter << 126).cast_signed() as f64;
    let angle = rest * (std::f64::consts::PI / (1u128 << 127) as f64);
    let (c, s) = (libm::cos(angle), libm::sin(angle));
    match quarter {
        0 => (c, s),
        1 => (-s, c),
        2 => (-c, -s),
        _ => (s, -c),
    }
}

impl Rotation<'_> {
    /// Rotates one head in place; `positions` has one entry for each axis. Elements outside of the rotary width stay as they
    /// are, and the factor on cosine and sine does not reach them.
    ///
    /// # Errors
    ///
    /// If the head is too short, or positions, axes and pairs do not match.
    pub fn rotate(&self, head: &mut [f64], positions: &[i64]) -> Result<(), RotationError> {
        let pairs = self.table.pairs().len();
        let end = self.offset.saturating_add(2 * pairs);
        let length = head.len();
        let part = head.get_mut(self.offset..end).ok_or(RotationError::Head {
            offset: self.offset,
            end,
            head: length,
        })?;
        let expected = self.axes.map_or(1, AxisMap::count);
        if positions.len() != expected {
            return Err(RotationError::Positions { found: positions.len(), expected });
        }
        if let Some(axes) = self.axes
            && axes.axes().len() != pairs
        {
            return Err(RotationError::Axes { found: axes.axes().len(), expected: pairs });
        }
        let factor = f64::from(self.table.attention_factor().f32(self.angles));
        for pair in 0..pairs {
            let axis = self.axes.map_or(0, |axes| usize::from(axes.axes()[pair]));
            let (c, s) = self.table.cos_sin(pair, positions[axis], self.angles);
            let (c, s) = (c * factor, s * factor);
            let s = if self.direction == Direction::Backward { -s } else { s };
            let (i, j) = self.pairing.members(pair, pairs);
            (part[i], part[j]) = (part[i] * c - part[j] * s, part[j] * c + part[i] * s);
        }
        Ok(())
    }
}
