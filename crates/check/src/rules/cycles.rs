//! Cycles of a graph, in a time that grows with its edges.

/// For each node: true if a path leads from it to itself. `edges` has the nodes that each one leads to.
pub(super) fn on_cycles(edges: &[Vec<usize>]) -> Vec<bool> {
    // Two nodes are on one cycle if paths lead both ways: the algorithm of Kosaraju.
    let mut backwards = vec![Vec::new(); edges.len()];
    for (from, all) in edges.iter().enumerate() {
        all.iter().for_each(|to| backwards[*to].push(from));
    }
    let mut components: Vec<Option<usize>> = vec![None; edges.len()];
    let mut sizes = vec![0; edges.len()];
    for start in finished(edges).into_iter().rev() {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if components[node].is_none() {
                components[node] = Some(start);
                sizes[start] += 1;
                open.extend(&backwards[node]);
            }
        }
    }
    let is_on_cycle = |(node, component): (usize, &Option<usize>)| {
        component.is_some_and(|start| sizes[start] > 1) || edges[node].contains(&node)
    };
    components.iter().enumerate().map(is_on_cycle).collect()
}

/// The nodes in the order in which a depth-first search leaves them.
fn finished(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(edges.len());
    let mut is_seen = vec![false; edges.len()];
    for start in 0..edges.len() {
        let mut path = Vec::new();
        if !std::mem::replace(&mut is_seen[start], true) {
            path.push((start, edges[start].iter()));
        }
        while let Some((node, next)) = path.last_mut() {
            match next.next() {
                Some(to) if !std::mem::replace(&mut is_seen[*to], true) => path.push((*to, edges[*to].iter())),
                Some(_) => {}
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_between_cycles_are_on_none() {
        // 0 and 1 are a ring, 3 leads to itself, 2 is between them, 4 and 5 are before and after.
        let edges = [vec![1], vec![0, 2], vec![3], vec![3, 5], vec![0], vec![]];
        assert_eq!(on_cycles(&edges), [true, true, false, true, false, false]);
        assert!(on_cycles(&[]).is_empty());
    }
}
