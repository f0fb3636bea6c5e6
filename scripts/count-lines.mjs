// npm run lines [-- FOLDER...]
//
// Lines of code of src, or of other folders, by folder: comments and blank lines are not counted.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
}

/** The lines of a file on which a token lies. */
function linesOf(file) {
  const text = readFileSync(file, 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const lines = new Set()
  const visit = (node) => {
    // a comment with a tag or a link has children of its own
    if (node.kind === ts.SyntaxKind.EndOfFileToken || ts.isJSDoc(node)) return
    const children = node.getChildren(source)
    if (children.length > 0) {
      for (const child of children) visit(child)
      return
    }
    const first = source.getLineAndCharacterOfPosition(node.getStart(source, false)).line
    const last = source.getLineAndCharacterOfPosition(node.getEnd()).line
    for (let line = first; line <= last; line++) lines.add(line)
  }
  visit(source)
  return lines.size
}

const folders = process.argv.slice(2)
const counts = new Map()
for (const folder of folders.length > 0 ? folders : ['src']) {
  for (const file of filesIn(join(root, folder))) {
    const name = relative(root, file).split('/').slice(0, 3)
    const key = (name.at(-1)?.endsWith('.ts') ? name.slice(0, -1) : name).join('/')
    counts.set(key, (counts.get(key) ?? 0) + linesOf(file))
  }
}
let sum = 0
for (const [name, lines] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
  console.log(`${`${lines}`.padStart(7)}  ${name}`)
  sum += lines
}
console.log(`${`${sum}`.padStart(7)}  in all`)
