//! Divides a budget so that what is short stays whole and what is long shares the rest evenly.

/// How much each gets. The sum is at most `budget`, and nobody gets more than it asks for.
pub(crate) fn shares(asked: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..asked.len()).collect();
    order.sort_by_key(|at| asked[*at]);
    let mut given = vec![0; asked.len()];
    let mut left = budget;
    for (done, at) in order.iter().enumerate() {
        let share = left / (asked.len() - done);
        given[*at] = asked[*at].min(share);
        left -= given[*at];
    }
    given
}
