import { expect, it } from 'vitest'
import { filesOf } from '../src/text/patch'

/** As git wrote it. */
const patch = `diff --git a/a b.txt b/a b.txt
index 97e839d..9c03f36 100644
--- a/a b.txt\t
+++ b/a b.txt\t
@@ -1,5 +1,5 @@
 line 1
-line 2
+second
 line 3
 line 4
 line 5
@@ -25,6 +25,6 @@ line 24
 line 25
 line 26
 line 27
-line 28
+-- a line that looks like a head
 line 29
 line 30
\\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/gone b/gone
deleted file mode 100644
index d914525..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- x
diff --git a/new b/new
new file mode 100644
index 0000000..72402cd
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+++ y
diff --git a/pic.bin b/pic.bin
index 8352675..a903574 100644
Binary files a/pic.bin and b/pic.bin differ
diff --git "a/t\\303\\244\\tb/\\"c\\"" "b/t\\303\\244\\tb/\\"c\\""
new file mode 100644
index 0000000..b680253
--- /dev/null
+++ "b/t\\303\\244\\tb/\\"c\\""
@@ -0,0 +1 @@
+z
`

it('reads what git writes of changed, new, deleted, empty and binary files', () => {
  const files = filesOf(patch)
  expect(files.map(({ path, became, added, removed }) => [path, became, added, removed])).toEqual([
    ['a b.txt', 'changed', 2, 2],
    ['empty', 'added', 0, 0],
    ['gone', 'deleted', 0, 1],
    ['new', 'added', 1, 0],
    ['pic.bin', 'changed', 0, 0],
    ['tä\tb/"c"', 'added', 1, 0],
  ])
  const [first, second] = files[0]!.pieces
  expect(first).toMatchObject({ first: { before: 1, after: 1 } })
  expect(first!.lines.slice(0, 3)).toEqual([
    { kind: 'same', text: 'line 1', old: 1, new: 1 },
    { kind: 'remove', text: 'line 2', old: 2 },
    { kind: 'add', text: 'second', new: 2 },
  ])
  expect(second!.first).toEqual({ before: 25, after: 25 })
  expect(second!.after.split('\n')[3]).toBe('-- a line that looks like a head')
  expect(files[2]!.pieces[0]!.lines).toEqual([{ kind: 'remove', text: '-- x', old: 1 }])
  expect(files[3]!.pieces[0]!.lines).toEqual([{ kind: 'add', text: '++ y', new: 1 }])
  expect(files[4]!.pieces).toEqual([])
})

it('has what came of a diff that is cut', () => {
  const cut = patch.slice(0, patch.indexOf(' line 26'))
  expect(filesOf(cut).map(({ pieces }) => pieces.map(({ lines }) => lines.length))).toEqual([[6, 1]])
  expect(filesOf('')).toEqual([])
})
