//! The bounds of a tree, and its pages.

use std::fs;

use protomcp_skills::{
    LoadError, MAX_DEPTH, MAX_FILES, MAX_NAMES, MAX_SKILL_BYTES, MAX_SKILLS, MAX_TREE_BYTES, MAX_URI, PAGE_BYTES,
    SkillFile, SkillTree,
};
use serde_json::Value;

use crate::scene::{Scene, document, members};

/// Writes a file of this many bytes, which uses no room on the disk.
fn large(scene: &Scene, name: &str, bytes: u64) {
    fs::File::create(scene.path(name)).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_skill_has_a_limited_number_of_files() {
    let scene = Scene::new();
    scene.skill("a");
    for number in 1..MAX_FILES {
        scene.write(&format!("a/{number}"), "");
    }
    assert_eq!(scene.tree().files().count(), MAX_FILES);
    scene.write("a/more", "");
    assert!(matches!(scene.load(), Err(LoadError::TooManyFiles { uri }) if uri == "skill://a/SKILL.md"));
    assert_eq!(scene.refusal(), "the skill skill://a/SKILL.md has more than 512 files");
}

#[test]
fn a_skill_has_a_limited_size() {
    let scene = Scene::new();
    scene.skill("a");
    let rest = MAX_SKILL_BYTES - document("a").len() as u64;
    large(&scene, "a/rest", rest);
    assert_eq!(scene.tree().files().map(SkillFile::size).sum::<u64>(), MAX_SKILL_BYTES);
    large(&scene, "a/rest", rest + 1);
    assert!(matches!(scene.load(), Err(LoadError::TooLarge { .. })), "{}", scene.refusal());
    large(&scene, "a/rest", MAX_SKILL_BYTES + 1);
    assert!(matches!(scene.load(), Err(LoadError::FileTooLarge { .. })), "{}", scene.refusal());
}

#[test]
fn all_skills_have_a_limited_size() {
    let scene = Scene::new();
    let count = MAX_TREE_BYTES / MAX_SKILL_BYTES + 1;
    for number in 0..count {
        let name = format!("a{number}");
        scene.skill(&name);
        large(&scene, &format!("{name}/rest"), MAX_SKILL_BYTES - document(&name).len() as u64);
    }
    assert!(matches!(scene.load(), Err(LoadError::TreeTooLarge)), "{}", scene.refusal());
    fs::remove_dir_all(scene.path("a0")).unwrap();
    assert_eq!(scene.tree().files().map(SkillFile::size).sum::<u64>(), MAX_TREE_BYTES);
}

#[test]
fn skills_names_and_folders_are_counted() {
    let scene = Scene::new();
    for number in 0..=MAX_SKILLS {
        scene.skill(&format!("s{number:04}"));
    }
    assert!(matches!(scene.load(), Err(LoadError::TooManySkills)), "{}", scene.refusal());

    let scene = Scene::new();
    fs::create_dir(scene.path("many")).unwrap();
    for number in 0..MAX_NAMES {
        fs::File::create(scene.path(&format!("many/{number}"))).unwrap();
    }
    assert!(matches!(scene.load(), Err(LoadError::TooManyNames)), "{}", scene.refusal());

    let scene = Scene::new();
    let deepest = vec!["d"; MAX_DEPTH - 1].join("/") + "/a";
    scene.skill(&deepest);
    assert_eq!(scene.tree().skills().count(), 1);
    scene.write(&format!("{deepest}/e/file"), "x");
    assert!(matches!(scene.load(), Err(LoadError::TooDeep { .. })), "{}", scene.refusal());

    let scene = Scene::new();
    // Each letter has six bytes in a URI.
    scene.skill("a").write(&format!("a/{0}/{0}", "é".repeat(MAX_URI / 12)), "x");
    assert!(matches!(scene.load(), Err(LoadError::LongUri { .. })), "{}", scene.refusal());
}

/// The items of all pages, and the number of each page's.
fn paged(
    tree: &SkillTree,
    page: impl Fn(&SkillTree, Option<&str>) -> protomcp_schema::Page,
) -> (Vec<String>, Vec<usize>) {
    let (mut all, mut counts, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let page = page(tree, cursor.as_deref());
        let items: Value = serde_json::from_str(page.items.as_str()).unwrap();
        let uris = members(&items);
        counts.push(uris.len());
        all.extend(uris.into_iter().map(str::to_owned));
        cursor = page.next;
        if cursor.is_none() {
            return (all, counts);
        }
    }
}

#[test]
fn pages_have_each_entry_once_and_whole() {
    let scene = Scene::new();
    for number in 0..20 {
        let name = format!("s{number:02}");
        scene.skill(&name);
        for file in 0..200 {
            scene.write(&format!("{name}/{}{file:03}", "x".repeat(100)), "");
        }
    }
    let tree = scene.tree();
    let expected: Vec<_> = tree.skills().map(|(uri, _)| uri.to_owned()).collect();
    let (entries, counts) = paged(&tree, |tree, cursor| tree.list(cursor).unwrap());
    assert_eq!(entries, expected);
    assert!(counts.len() > 1, "{counts:?}");
    let entry = tree.get(&expected[0]).unwrap().len();
    assert!(counts.iter().all(|count| count * entry < PAGE_BYTES + entry + 100), "{counts:?} of {entry}");
    assert_eq!(paged(&tree, |tree, cursor| tree.resources(cursor).unwrap()).0, expected);
    let (children, _) = paged(&tree, |tree, cursor| tree.directory("skill://s00", cursor).unwrap());
    assert_eq!(children.len(), 201);
    for cursor in ["x", "skill://s00/SKILL.md", "0"] {
        assert_eq!(tree.list(Some(cursor)).unwrap_err().code, -32602, "{cursor}");
        assert_eq!(tree.directory("skill://s00", Some(cursor)).unwrap_err().code, -32602, "{cursor}");
    }
}
