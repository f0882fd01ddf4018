//! What is measured: operations of codes, each as sums with coefficients.

use clap::ValueEnum;
use parlour_codec::galois::{inverse, product};

use crate::isal::Function;

/// A code, by the number of its check units.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Scheme {
    /// One: the exclusive or
    Xor,
    /// Two: P and Q of RAID 6
    Pq,
    /// Three: with the coefficients 1, gⁱ and g⁻ⁱ
    Triple,
}

impl Scheme {
    const ALL: [Scheme; 3] = [Scheme::Xor, Scheme::Pq, Scheme::Triple];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Xor => "xor",
            Self::Pq => "P+Q",
            Self::Triple => "triple",
        }
    }

    fn checks(self) -> usize {
        match self {
            Self::Xor => 1,
            Self::Pq => 2,
            Self::Triple => 3,
        }
    }

    fn coefficient(check: usize, unit: usize) -> u8 {
        let power = (0..unit).fold(1, |power, _| product(power, 2));
        match check {
            0 => 1,
            1 => power,
            _ => inverse(power),
        }
    }
}

/// What is computed.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Operation {
    /// All check units from all data units
    Encode,
    /// All check units from the change of the last data unit
    Delta,
    /// One data unit from P and the others
    DecodeByP,
    /// One data unit from Q and the others
    DecodeByQ,
    /// As many data units as there are check units, from these and the others
    DecodeAll,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Delta => "delta",
            Self::DecodeByP => "decode one, by P",
            Self::DecodeByQ => "decode one, by Q",
            Self::DecodeAll => "decode all",
        }
    }
}

/// Sums to compute.
pub(crate) struct Case {
    pub(crate) operation: Operation,
    pub(crate) code: Scheme,
    /// The data units of a stripe.
    pub(crate) width: usize,
    pub(crate) outputs: usize,
    /// In rows, one for each output.
    pub(crate) coefficients: Vec<u8>,
    /// What ISA-L has for it.
    pub(crate) function: Function,
}

impl Case {
    pub(crate) fn sources(&self) -> usize {
        self.coefficients.len() / self.outputs
    }

    /// Whether the sums are added to the outputs.
    pub(crate) fn adds(&self) -> bool {
        self.operation == Operation::Delta
    }
}

/// All cases of one width.
pub(crate) fn of_width(width: usize) -> Vec<Case> {
    Scheme::ALL.iter().flat_map(|code| of_code(*code, width)).collect()
}

fn of_code(code: Scheme, width: usize) -> Vec<Case> {
    let checks = code.checks();
    let (encode, update) = match code {
        Scheme::Xor => (Function::Xor, Function::XorInto),
        Scheme::Pq => (Function::PAndQ, Function::Update),
        Scheme::Triple => (Function::Encode, Function::Update),
    };
    let case = |operation, outputs, coefficients, function| Case {
        operation,
        code,
        width,
        outputs,
        coefficients,
        function,
    };
    let row = |check: usize| (0..width).map(move |unit| Scheme::coefficient(check, unit));
    let last = |check: usize| Scheme::coefficient(check, width - 1);
    let mut cases = vec![
        case(Operation::Encode, checks, (0..checks).flat_map(row).collect(), encode),
        case(Operation::Delta, checks, (0..checks).map(last).collect(), update),
        case(Operation::DecodeByP, 1, decode(width, &[0]), Function::Xor),
    ];
    if checks > 1 {
        let all: Vec<usize> = (0..checks).collect();
        cases.push(case(Operation::DecodeByQ, 1, decode(width, &[1]), Function::Encode));
        cases.push(case(Operation::DecodeAll, checks, decode(width, &all), Function::Encode));
    }
    cases
}

/// The coefficients that give the last data units, one for each of `checks`, from these check units
/// and then the other data units.
fn decode(width: usize, checks: &[usize]) -> Vec<u8> {
    let kept = width - checks.len();
    // Each row is an equation: the sum over the lost units, on its left, is a check unit plus the
    // sum over the others, on its right. It is solved for the lost units.
    let equation = |(row, &check): (usize, &usize)| -> Vec<u8> {
        let lost = (kept..width).map(|unit| Scheme::coefficient(check, unit));
        let own = (0..checks.len()).map(|column| u8::from(row == column));
        let others = (0..kept).map(|unit| Scheme::coefficient(check, unit));
        lost.chain(own).chain(others).collect()
    };
    let mut rows: Vec<Vec<u8>> = checks.iter().enumerate().map(equation).collect();
    for column in 0..rows.len() {
        let pivot = (column..rows.len()).find(|row| rows[*row][column] != 0).expect("the code corrects it");
        rows.swap(column, pivot);
        let scale = inverse(rows[column][column]);
        rows[column].iter_mut().for_each(|value| *value = product(*value, scale));
        let solved = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let times = row[column];
            row.iter_mut().zip(&solved).for_each(|(a, b)| *a ^= product(times, *b));
        }
    }
    rows.iter().flat_map(|row| row[checks.len()..].iter().copied()).collect()
}
