# tests/cell/git_attack.sh: what a tool may try whose sandbox writes `.git`; run in a work tree beside a linked one with the name "other". Each line is
# NAME and "refused" or "OPEN"; "commits" must work.
g=$(git rev-parse --git-dir) c=$(git rev-parse --git-common-dir)
try()
{
    name=$1
    shift
    if "$@" 2>/dev/null; then echo "$name OPEN"; else echo "$name refused"; fi
}
put() { echo x >>"$1"; }
over() { echo x >"$c/new" && mv "$c/new" "$1"; }
try config put "$c/config"
try config_set git config core.fsmonitor ./x
try config_moved mv "$c/config" "$c/gone"
try config_removed rm "$c/config"
try config_replaced over "$c/config"
try hook put "$c/hooks/pre-commit"
try hooks_moved mv "$c/hooks" "$c/gone"
try module put "$c/modules/x"
try modules_moved mv "$c/modules" "$c/gone"
try tree_made mkdir "$c/worktrees/new"
try trees_moved mv "$c/worktrees" "$c/gone"
try other_tree put "$c/worktrees/other/HEAD"
try other_tree_led put "$c/worktrees/other/commondir"
try tree_settings put "$c/config.worktree"
if [ "$g" != "$c" ]; then try led put "$g/commondir"; fi
try moved mv "$c" "$c.gone"
try named_moved mv .git gone
try own_moved mv "$g" "$g.gone"
echo more >>text
try commits git commit -q -a -m two
