//! Lists and their pages, and answers that are used again.

use futures_util::{StreamExt, TryStreamExt};

use crate::server::{client, in_both_eras};

#[test]
fn all_pages_come_in_order() {
    in_both_eras(client, async |stage| {
        let session = &stage.session;
        let names: Vec<String> =
            session.tools().map_ok(|tool| tool.name.as_str().to_owned()).try_collect().await.unwrap();
        assert_eq!(names.len(), 10, "{names:?}");
        let first = session.list_tools(None).await.unwrap();
        assert_eq!((first.items.len(), first.next_cursor.is_some()), (3, true));
        assert!(names.starts_with(&first.items.iter().map(|tool| tool.name.as_str().to_owned()).collect::<Vec<_>>()));
        assert!(session.list_tools(Some("bad cursor".into())).await.is_err());
        assert_eq!(session.resources().count().await, 2);
        assert_eq!(session.resource_templates().count().await, 1);
        assert_eq!(session.prompts().count().await, 1);
    });
}
