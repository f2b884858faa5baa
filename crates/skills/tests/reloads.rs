//! Folders that are loaded again.

use std::fs;
use std::sync::Arc;

use protomcp_skills::{ReloadOn, SkillFolders, SkillTree, Skills};
use protomcp_testing::{Log, until};
use tokio::runtime::Builder;

use crate::scene::Scene;

const REFUSED: &str = "the skills were not reloaded, and the ones before are served: ";

/// Runs a test on real time, because files are watched; on one thread, because its log is of one.
fn run<F: Future<Output = ()>>(test: F) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn names(tree: &Arc<SkillTree>) -> String {
    tree.skills().map(|(_, skill)| skill.name().to_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_save_is_served_and_a_faulty_one_is_not() {
    let log = Log::capture();
    run(async {
        let scene = Scene::new();
        scene.skill("a").write("a/x.bin", "1");
        let skills = Skills::load(&[scene.root().to_owned()]).unwrap();
        let _reload = skills.reload_on_change(vec![scene.root().to_owned()], None).unwrap();
        scene.skill("b");
        until("the new skill", || names(&skills.tree()) == "a b").await;
        scene.write("a/x.bin", "2");
        let contents = |uri: &str| skills.tree().read(uri).map(|file| file.contents().clone());
        until("the new contents", || contents("skill://a/x.bin").is_some_and(|bytes| bytes == "2")).await;
        scene.write("b/SKILL.md", "no frontmatter");
        until("the refusal", || log.has(REFUSED)).await;
        assert_eq!(names(&skills.tree()), "a b");
        scene.skill("b").skill("c");
        until("all skills", || names(&skills.tree()) == "a b c").await;
        fs::remove_dir_all(scene.path("a")).unwrap();
        until("the rest", || names(&skills.tree()) == "b c").await;
    });
}

#[test]
fn a_request_loads_the_folders_again() {
    let log = Log::capture();
    run(async {
        let scene = Scene::new();
        scene.skill("a").write("a/.env", "x");
        let skills = Skills::load(&[scene.root().to_owned()]).unwrap();
        assert!(log.has("not served as part of a skill: "), "{}", log.text());
        let reload = skills.reload_on_request(vec![scene.root().to_owned()]);
        scene.write("a/SKILL.md", "no frontmatter");
        reload.request();
        until("the refusal", || log.has(REFUSED)).await;
        assert_eq!(names(&skills.tree()), "a");
        scene.skill("a").skill("b");
        reload.request();
        until("the new skill", || names(&skills.tree()) == "a b").await;
    });
}

#[test]
fn a_program_replaces_its_folders_and_not_the_users() {
    let log = Log::capture();
    run(async {
        let (own, first, second) = (Scene::new(), Scene::new(), Scene::new());
        own.skill("a");
        first.skill("b");
        second.skill("c");
        let path = |scene: &Scene| scene.root().to_owned();
        let folders = SkillFolders::open(vec![path(&own)], ReloadOn::Change { poll: None }).unwrap();
        assert_eq!(names(&folders.skills().tree()), "a");
        folders.serve_named(vec![path(&first), path(&own)]).await.unwrap();
        assert_eq!(names(&folders.skills().tree()), "a b", "they are loaded before the program is served");
        first.skill("d");
        until("a save in the folder of the program", || names(&folders.skills().tree()) == "a b d").await;
        folders.serve_named(vec![path(&second)]).await.unwrap();
        until("the folder of the next version", || names(&folders.skills().tree()) == "a c").await;
        folders.serve_named(vec![second.path("none")]).await.unwrap();
        until("the refusal", || log.has(REFUSED)).await;
        assert_eq!(names(&folders.skills().tree()), "a c");
        folders.serve_named(Vec::new()).await.unwrap();
        until("no folder of the program", || names(&folders.skills().tree()) == "a").await;
    });
}

#[test]
fn the_first_folders_of_a_program_must_be_right() {
    run(async {
        let scene = Scene::new();
        scene.write("a/SKILL.md", "no frontmatter");
        let folders = SkillFolders::open(Vec::new(), ReloadOn::Request).unwrap();
        let error = folders.serve_named(vec![scene.root().to_owned()]).await.unwrap_err().to_string();
        assert!(error.contains("the first line is not ---"), "{error}");
        scene.skill("a");
        folders.serve_named(vec![scene.root().to_owned()]).await.unwrap();
        assert_eq!(names(&folders.skills().tree()), "a");
        scene.skill("b");
        folders.reload();
        until("the new skill", || names(&folders.skills().tree()) == "a b").await;
    });
}
