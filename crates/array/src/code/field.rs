//! Systems of linear equations over GF(2⁸).

use parlour_codec::galois::{inverse, product};

/// Factors of `rows` such that their sum is `target`; `None` if there are none. If several choices
/// are possible, earlier rows are used and the factors of the others are 0.
pub(super) fn combine(rows: Vec<Vec<u8>>, target: Vec<u8>) -> Option<Vec<u8>> {
    // Each basis row has a column of its own with the value 1, and is a known sum of `rows`.
    let mut basis: Vec<(usize, Vec<u8>, Vec<u8>)> = Vec::new();
    let reduce = |basis: &[(usize, Vec<u8>, Vec<u8>)], row: &mut [u8], factors: &mut [u8]| {
        for (column, other, of) in basis {
            let times = row[*column];
            if times != 0 {
                row.iter_mut().zip(other).for_each(|(a, b)| *a ^= product(times, *b));
                factors.iter_mut().zip(of).for_each(|(a, b)| *a ^= product(times, *b));
            }
        }
    };
    let count = rows.len();
    for (index, mut row) in rows.into_iter().enumerate() {
        let mut factors = vec![0; count];
        factors[index] = 1;
        reduce(&basis, &mut row, &mut factors);
        if let Some(column) = row.iter().position(|value| *value != 0) {
            let times = inverse(row[column]);
            row.iter_mut().chain(&mut factors).for_each(|value| *value = product(*value, times));
            basis.push((column, row, factors));
        }
    }
    let (mut rest, mut factors) = (target, vec![0; count]);
    reduce(&basis, &mut rest, &mut factors);
    rest.iter().all(|value| *value == 0).then_some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_the_sum_of_rows_or_is_not() {
        let rows = vec![vec![1, 1], vec![1, 2]];
        let factors = combine(rows.clone(), vec![1, 0]).expect("they are independent");
        let sum = |column: usize| product(factors[0], rows[0][column]) ^ product(factors[1], rows[1][column]);
        assert_eq!([sum(0), sum(1)], [1, 0]);
        assert_eq!(combine(vec![vec![1, 1]], vec![1, 0]), None);
        assert_eq!(combine(vec![vec![1], vec![1]], vec![1]), Some(vec![1, 0]));
        assert_eq!(combine(vec![], vec![]), Some(vec![]));
    }
}
