//! Folders and the trees that they become.

use protomcp_skills::{Omitted, SkillTree};
use serde_json::{Value, json};

use crate::scene::{Scene, document, entry, members, uris};

#[test]
fn a_folder_of_skills_is_a_namespace() {
    let scene = Scene::new();
    scene.skill("git-workflow").skill("acme/billing/refunds").write("acme/billing/refunds/examples/a b.md", "x");
    scene.write("README.md", "not served").write("acme/notes.md", "not served");
    let tree = scene.tree();
    let refunds = "skill://acme/billing/refunds/SKILL.md";
    let skills: Vec<_> = tree.skills().map(|(uri, skill)| (uri, skill.name())).collect();
    assert_eq!(skills, [(refunds, "refunds"), ("skill://git-workflow/SKILL.md", "git-workflow")]);
    let file = "skill://acme/billing/refunds/examples/a%20b.md";
    assert_eq!(uris(&tree), [refunds, file, "skill://git-workflow/SKILL.md"]);
    let digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let skill = tree.read(refunds).unwrap();
    let expected = json!({
        "uri": refunds,
        "frontmatter": {"name": "refunds", "description": "About refunds."},
        "resources": [
            {"uri": refunds, "digest": skill.digest(), "size": document("refunds").len()},
            {"uri": file, "digest": digest, "size": 1},
        ],
    });
    assert_eq!(entry(&tree, refunds), expected);
    assert_eq!(skill.contents(), document("refunds").as_bytes());
    assert_eq!((skill.media_type(), skill.size()), ("text/markdown", document("refunds").len() as u64));
}

#[test]
fn a_folder_that_is_a_skill_has_its_own_name() {
    let scene = Scene::new();
    scene.skill("refunds");
    let tree = SkillTree::load(scene.path("refunds")).unwrap();
    assert_eq!(uris(&tree), ["skill://refunds/SKILL.md"]);
    // The name of the temporary folder is not the name of the skill.
    scene.write("SKILL.md", document("a"));
    assert!(scene.refusal().contains("has the name \"a\": name the folder and the skill alike"), "{}", scene.refusal());
}

#[test]
fn a_nested_skill_is_complete_in_both_entries() {
    let scene = Scene::new();
    scene.skill("outer").skill("outer/parts/inner").write("outer/parts/inner/x.md", "x").write("outer/y.md", "y");
    let tree = scene.tree();
    let (outer, inner) = (entry(&tree, "skill://outer/SKILL.md"), entry(&tree, "skill://outer/parts/inner/SKILL.md"));
    let inside = ["skill://outer/parts/inner/SKILL.md", "skill://outer/parts/inner/x.md"];
    assert_eq!(members(&inner["resources"]), inside);
    let all = ["skill://outer/SKILL.md", inside[0], inside[1], "skill://outer/y.md"];
    assert_eq!(members(&outer["resources"]), all);
}

#[test]
fn every_folder_of_the_namespace_can_be_listed() {
    let scene = Scene::new();
    scene.skill("acme/refunds").write("acme/refunds/templates/eu/a.md", "a").write("acme/refunds/run.sh", "x");
    std::fs::create_dir(scene.path("acme/refunds/empty")).unwrap();
    let tree = scene.tree();
    let children =
        |uri: &str| -> Value { serde_json::from_str(tree.directory(uri, None).unwrap().items.as_str()).unwrap() };
    let acme = json!([{"uri": "skill://acme/refunds", "name": "refunds", "mimeType": "inode/directory"}]);
    assert_eq!(children("skill://acme"), acme);
    let expected = [
        "skill://acme/refunds/SKILL.md",
        "skill://acme/refunds/empty",
        "skill://acme/refunds/run.sh",
        "skill://acme/refunds/templates",
    ];
    let refunds = children("skill://acme/refunds");
    assert_eq!(members(&refunds), expected);
    assert_eq!((&refunds[0]["name"], &refunds[0]["description"]), (&json!("refunds"), &json!("About refunds.")));
    assert_eq!(refunds[2]["mimeType"], "application/x-sh");
    assert_eq!(children("skill://acme/refunds/empty"), json!([]));
    assert_eq!(members(&children("skill://acme/refunds/templates")), ["skill://acme/refunds/templates/eu"]);
}

#[test]
fn folders_add_up_unless_they_have_the_same_file() {
    let (one, two) = (Scene::new(), Scene::new());
    one.skill("acme/a");
    two.skill("acme/b");
    let both = SkillTree::load_all([one.root(), two.root()]).unwrap();
    assert_eq!(uris(&both), ["skill://acme/a/SKILL.md", "skill://acme/b/SKILL.md"]);
    two.skill("acme/a");
    let error = SkillTree::load_all([one.root(), two.root()]).unwrap_err().to_string();
    let [first, second] = [&one, &two].map(|scene| scene.path("acme/a/SKILL.md").display().to_string());
    assert!(error.starts_with(&format!("{first} and {second} are both skill://acme/a/SKILL.md: ")), "{error}");
}

#[test]
fn a_folder_that_is_named_twice_is_loaded_once() {
    let scene = Scene::new();
    scene.skill("acme/a");
    std::os::unix::fs::symlink(scene.path("acme"), scene.path("link")).unwrap();
    let paths = ["acme", "link", "acme/../acme/."].map(|name| scene.path(name));
    let tree = SkillTree::load_all(paths).unwrap();
    assert_eq!(uris(&tree), ["skill://a/SKILL.md"]);
}

#[test]
fn an_error_repeats_the_beginning_of_a_long_uri() {
    let (tree, uri) = (SkillTree::default(), "x".repeat(1 << 20));
    for error in [
        tree.get(&uri).unwrap_err(),
        tree.directory(&uri, None).unwrap_err(),
        tree.list(Some(&uri)).unwrap_err(),
        tree.resources(Some(&uri)).unwrap_err(),
    ] {
        assert!(error.message.len() < 300 && error.message.contains("xx…\""), "{}", error.message.len());
    }
}

#[test]
fn private_names_are_left_out_and_noted() {
    let scene = Scene::new();
    scene.skill("a").write("a/.git/config", "x").write("a/.env", "SECRET=1").write("a/SKILL.md~", "old");
    let tree = scene.tree();
    assert_eq!(uris(&tree), ["skill://a/SKILL.md"]);
    let omitted: Vec<_> = tree.omissions().iter().map(|omission| (omission.path.clone(), omission.why)).collect();
    let expected = [".env", ".git", "SKILL.md~"].map(|name| (scene.path("a").join(name), Omitted::Private));
    assert_eq!(omitted, expected);
    assert!(tree.omissions()[0].to_string().ends_with(".env\": its name begins with a dot or ends with ~"));
}

#[test]
fn a_skill_that_is_not_valid_is_named() {
    for (contents, reason) in [
        ("text", "SKILL.md: the first line is not ---, which begins a frontmatter"),
        ("---\nname: b\ndescription: d\n---\n", "has the name \"b\": name the folder and the skill alike"),
        ("---\nname: a\n---\n", "SKILL.md: the frontmatter has no field description with a text"),
    ] {
        let scene = Scene::new();
        scene.skill("ok").write("a/SKILL.md", contents);
        assert!(scene.refusal().contains(reason), "{}", scene.refusal());
    }
    let missing = SkillTree::load(Scene::new().path("none")).unwrap_err().to_string();
    assert!(missing.contains("none cannot be read: No such file"), "{missing}");
}
