//! A process and all its descendants.

use std::collections::HashSet;

/// The root first. `children` may be slightly out of date: a number that comes up twice counts once.
pub(super) fn descend(root: u32, mut children: impl FnMut(u32) -> Vec<u32>) -> Vec<u32> {
    let (mut tree, mut seen) = (vec![root], HashSet::from([root]));
    let mut next = 0;
    while let Some(parent) = tree.get(next) {
        let found = children(*parent);
        tree.extend(found.into_iter().filter(|child| seen.insert(*child)));
        next += 1;
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_once_even_in_a_circle() {
        let children = |pid| match pid {
            1 => vec![2, 3],
            2 => vec![4],
            4 => vec![1, 3],
            _ => vec![],
        };
        assert_eq!(descend(1, children), [1, 2, 3, 4]);
        assert_eq!(descend(9, children), [9]);
    }
}
