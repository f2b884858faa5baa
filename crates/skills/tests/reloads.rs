//! Folders that are loaded again.

use std::fs;
use std::sync::Arc;

use protomcp_skills::{SkillTree, Skills};
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
