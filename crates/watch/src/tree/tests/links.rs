//! Links on the way to the root and to the entry file that lead elsewhere later.

use super::*;

/// Makes a link lead elsewhere, immediately as deployments do.
fn lead(link: &Path, target: &str) {
    let next = link.with_file_name("next");
    std::os::unix::fs::symlink(target, &next).unwrap();
    fs::rename(next, link).unwrap();
}

#[test]
fn a_root_behind_a_link_is_followed() {
    let mut bench =
        Bench::new(&["releases/1/tools.py", "releases/1/a/m.py", "releases/2/tools.py", "releases/2/b/m.py"]);
    let cur = bench.path("cur");
    lead(&cur, "releases/1");
    bench.tree = Tree::new(cur.clone(), Filter::source(&cur.join("tools.py")));
    bench.scan();
    assert!(bench.announced.contains(&bench.root), "the link may change: {:?}", bench.announced);
    assert_eq!(bench.refresh("releases/1/a/m.py", Certain), "releases/1/a/m.py");
    for (before, now, file) in [("1", "2", "b/m.py"), ("2", "1", "a/m.py")] {
        lead(&cur, &format!("releases/{now}"));
        assert_eq!(bench.refresh("cur", Certain), "cur", "a save, and not one of each file");
        assert_eq!(bench.tree.root(), bench.path(&format!("releases/{now}")));
        assert!(bench.announced.contains(&bench.path(&format!("releases/{now}"))), "{:?}", bench.announced);
        assert_eq!(bench.scan(), "");
        for changed in ["tools.py", file] {
            let changed = format!("releases/{now}/{changed}");
            assert_eq!(bench.refresh(&changed, Certain), changed);
        }
        assert_eq!(bench.refresh(&format!("releases/{before}/tools.py"), Certain), "");
    }
    // In two steps, and seen by a scan.
    fs::remove_file(&cur).unwrap();
    assert_eq!(bench.scan(), "cur");
    lead(&cur, "releases/2");
    assert_eq!(bench.scan(), "cur");
    assert_eq!(bench.scan(), "");
    // Files that come and go there do not make the link another one.
    bench.write("releases/2/notes.txt", "");
    assert_eq!(bench.scan(), "");
}

#[test]
fn a_link_in_the_middle_of_a_path_is_followed() {
    // Kubernetes mounts files like this.
    let mut bench = Bench::new(&["a.py", "..v1/tools.py", "..v2/tools.py"]);
    lead(&bench.path("..data"), "..v1");
    std::os::unix::fs::symlink("..data/tools.py", bench.path("tools.py")).unwrap();
    bench.tree = Tree::new(bench.root.clone(), Filter::source(&bench.path("tools.py")));
    bench.scan();
    assert_eq!(bench.scan(), "");
    lead(&bench.path("..data"), "..v2");
    assert_eq!(bench.refresh("..data", Certain), "..data");
    assert_eq!(bench.refresh("..v2/tools.py", Certain), "..v2/tools.py", "it is watched from now on");
    assert_eq!(bench.refresh("..v1/tools.py", Certain), "");
}
