//! The records of tasks in memory, within bounds.
//!
//! Callers share the room: a full table makes room by the holder of most, ended tasks first and the oldest first.

use std::collections::HashMap;
use std::time::Instant;

use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_update::TaskUpdate;
use protomcp_fair::{Owner, holder_of_most};

/// The bounds of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskBounds {
    /// Tasks of all keys together.
    pub(crate) tasks: usize,
    /// Tasks of one key.
    pub(crate) of_one: usize,
    /// Bytes of results.
    pub(crate) bytes: usize,
}

/// Tasks by id.
#[derive(Debug)]
pub(crate) struct TaskTable {
    bounds: TaskBounds,
    tasks: HashMap<String, Entry>,
    /// Orders tasks by their beginning.
    last: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    record: TaskRecord,
    until: Instant,
}

impl TaskTable {
    pub(crate) fn new(bounds: TaskBounds) -> Self {
        Self { bounds, tasks: HashMap::new(), last: 0 }
    }

    /// Takes in a task. Returns the ids of the tasks that have made room for it; `None`: there is no room.
    pub(crate) fn insert(&mut self, record: TaskRecord, now: Instant) -> Option<Vec<String>> {
        let mut evicted = self.expire(now);
        if self.tasks.values().filter(|entry| entry.record.key == record.key).count() >= self.bounds.of_one {
            return None;
        }
        if self.tasks.len() >= self.bounds.tasks {
            let held = self.tasks.values().map(|entry| (entry.record.owner.clone(), 1));
            let most = holder_of_most(held, &record.owner)?;
            evicted.extend(self.take_oldest(&most, |_| true));
        }
        self.last += 1;
        let until = now + record.state.options().ttl;
        self.tasks.insert(record.id().to_owned(), Entry { number: self.last, record, until });
        Some(evicted)
    }

    /// Replaces a record. The results of others make room for its result: each time the oldest of the holder of most,
    /// until that holder has no other than this one.
    pub(crate) fn update(&mut self, record: TaskRecord) -> TaskUpdate {
        let mut evicted = Vec::new();
        let (id, owner) = (record.id().to_owned(), record.owner.clone());
        let Some(entry) = self.tasks.get_mut(&id) else { return TaskUpdate::Kept { evicted } };
        let number = entry.number;
        let before = std::mem::replace(&mut entry.record, record);
        while self.bytes() > self.bounds.bytes {
            let held = self.tasks.values().map(|entry| (entry.record.owner.clone(), entry.record.size));
            let most = holder_of_most(held, &owner).unwrap_or_else(|| owner.clone());
            match self.take_oldest(&most, |entry| entry.record.size > 0 && entry.number != number) {
                Some(oldest) => evicted.push(oldest),
                None => {
                    if let Some(entry) = self.tasks.get_mut(&id) {
                        entry.record = before;
                    }
                    return TaskUpdate::NoRoom { evicted };
                }
            }
        }
        TaskUpdate::Kept { evicted }
    }

    pub(crate) fn find(&self, id: &str, key: &TaskKey, now: Instant) -> Option<TaskRecord> {
        let entry = self.tasks.get(id).filter(|entry| entry.until > now && entry.record.key == *key)?;
        Some(entry.record.clone())
    }

    /// The tasks with this key, oldest first.
    pub(crate) fn list(&self, key: &TaskKey, now: Instant) -> Vec<TaskRecord> {
        let is_theirs = |entry: &&Entry| entry.until > now && entry.record.key == *key;
        let mut found: Vec<_> = self.tasks.values().filter(is_theirs).collect();
        found.sort_unstable_by_key(|entry| entry.number);
        found.into_iter().map(|entry| entry.record.clone()).collect()
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.tasks.remove(id);
    }

    fn expire(&mut self, now: Instant) -> Vec<String> {
        self.tasks.extract_if(|_, entry| entry.until <= now).map(|(id, _)| id).collect()
    }

    fn bytes(&self) -> usize {
        self.tasks.values().map(|entry| entry.record.size).sum()
    }

    /// Takes out the oldest of a holder's tasks, ended ones first.
    fn take_oldest(&mut self, owner: &Owner, may_go: impl Fn(&Entry) -> bool) -> Option<String> {
        let candidates = self.tasks.iter().filter(|(_, entry)| entry.record.owner == *owner && may_go(entry));
        let (id, _) = candidates.min_by_key(|(_, entry)| (entry.record.state.is_running(), entry.number))?;
        let id = id.clone();
        self.tasks.remove(&id).map(|_| id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use protomcp_session::{SessionId, TaskEra, TaskOptions, TaskState};
    use protomcp_types::CallToolResult;

    use super::*;
    use crate::records::node::NodeId;

    const MANY: TaskBounds = TaskBounds { tasks: 9, of_one: 9, bytes: 0 };
    const SECOND: Duration = Duration::from_secs(1);

    fn key(number: u64) -> TaskKey {
        TaskKey::Session(NodeId::default(), SessionId::new(number))
    }

    /// A task of one key, which is also an owner, that is kept for a second.
    fn record(id: usize, of: u64) -> TaskRecord {
        let options = TaskOptions { ttl: SECOND, ..TaskOptions::default() };
        let state = TaskState::new(TaskEra::Session, id.to_string(), options, SystemTime::now());
        let owner = Owner::Principal(of.to_string().into());
        TaskRecord { key: key(of), owner, node: NodeId::default(), state, questions: None, size: 0 }
    }

    fn ended(id: usize, of: u64, size: usize) -> TaskRecord {
        let mut record = TaskRecord { size, ..record(id, of) };
        record.state.end(Ok(CallToolResult::text("done").into()), SystemTime::now());
        record
    }

    fn ids(records: &[TaskRecord]) -> Vec<&str> {
        records.iter().map(TaskRecord::id).collect()
    }

    #[test]
    fn a_task_is_found_by_its_key_until_its_time_is_up() {
        let (mut table, now) = (TaskTable::new(TaskBounds { tasks: 2, ..MANY }), Instant::now());
        assert!(table.insert(record(1, 1), now).is_some() && table.insert(record(2, 2), now).is_some());
        assert!(table.insert(record(3, 1), now).is_none(), "there is no room");
        let found = |table: &TaskTable, id: &str, who, now| table.find(id, &key(who), now).is_some();
        assert!(found(&table, "1", 1, now) && !found(&table, "1", 2, now) && !found(&table, "0", 1, now));
        assert!(!found(&table, "1", 1, now + SECOND) && table.list(&key(1), now + SECOND).is_empty());
        assert_eq!(ids(&table.list(&key(1), now)), ["1"]);
        table.remove("2");
        assert!(!found(&table, "2", 2, now));
    }

    #[test]
    fn tasks_whose_time_is_up_make_room() {
        let (mut table, now) = (TaskTable::new(TaskBounds { tasks: 1, ..MANY }), Instant::now());
        table.insert(record(1, 1), now).unwrap();
        assert_eq!(table.insert(record(2, 1), now + SECOND), Some(vec!["1".to_owned()]));
    }

    #[test]
    fn each_key_has_its_own_capacity() {
        let (mut table, now) = (TaskTable::new(TaskBounds { of_one: 1, ..MANY }), Instant::now());
        assert!(table.insert(record(1, 1), now).is_some() && table.insert(record(2, 2), now).is_some());
        assert!(table.insert(record(3, 1), now).is_none());
        table.remove("1");
        assert!(table.insert(record(3, 1), now).is_some());
    }

    #[test]
    fn the_holder_of_most_makes_room_for_the_tasks_of_others() {
        let (mut table, now) = (TaskTable::new(TaskBounds { tasks: 4, ..MANY }), Instant::now());
        for (id, of) in [1, 1, 1, 2].into_iter().enumerate() {
            table.insert(record(id, of), now).unwrap();
        }
        assert_eq!(table.insert(record(4, 1), now), None);
        // The second has ended, and goes before the first.
        table.update(ended(1, 1, 0));
        assert_eq!(table.insert(record(5, 2), now), Some(vec!["1".to_owned()]));
        let evicted = table.insert(record(6, 3), now).unwrap();
        assert!(evicted == ["0"] || evicted == ["3"]);
    }

    /// Results by key and size, one after the other, with room for 40 bytes.
    #[track_caller]
    fn check(results: &[(u64, usize)], left: &[bool]) {
        let (mut table, now) = (TaskTable::new(TaskBounds { bytes: 40, ..MANY }), Instant::now());
        for (id, (of, _)) in results.iter().enumerate() {
            table.insert(record(id, *of), now).unwrap();
        }
        for (id, (of, size)) in results.iter().enumerate() {
            if let TaskUpdate::NoRoom { .. } = table.update(ended(id, *of, *size)) {
                let record = table.find(&id.to_string(), &key(*of), now).unwrap();
                assert!(record.state.is_running() && record.size == 0, "it is as it was");
            }
        }
        let is_left = |(id, (of, size)): (usize, &(u64, usize))| {
            table.find(&id.to_string(), &key(*of), now).is_some_and(|record| record.size == *size)
        };
        assert_eq!(results.iter().enumerate().map(is_left).collect::<Vec<_>>(), left, "{results:?}");
    }

    #[test]
    fn the_oldest_results_of_the_largest_holder_make_room() {
        check(&[(1, 10), (1, 10), (1, 10), (1, 10)], &[true, true, true, true]);
        check(&[(1, 10), (1, 10), (1, 10), (1, 11)], &[false, true, true, true]);
        check(&[(1, 30), (1, 40)], &[false, true]);
        check(&[(1, 10), (2, 20), (2, 10), (1, 10)], &[true, false, true, true]);
        check(&[(1, 30), (2, 5), (2, 10)], &[false, true, true]);
    }

    #[test]
    fn a_result_has_no_room_when_its_owner_holds_most_by_it_alone() {
        check(&[(1, 41)], &[false]);
        check(&[(1, 10), (2, 31)], &[true, false]);
        check(&[(1, 21), (2, 21)], &[true, false]);
        check(&[(2, 20), (1, 10), (2, 31)], &[false, true, false]);
        check(&[(1, 10), (2, 31), (1, 30)], &[true, false, true]);
    }

    #[test]
    fn a_task_that_is_not_kept_needs_no_room() {
        let mut table = TaskTable::new(MANY);
        assert_eq!(table.update(ended(0, 1, 1_000)), TaskUpdate::Kept { evicted: vec![] });
        assert!(table.find("0", &key(1), Instant::now()).is_none());
    }
}
