// A plugin of TypeDoc for the site: documents stand in the order of docs/README.md, with links to
// the previous and the next guide; each example is a page with all of its files; the landing page is
// the README with the lists of docs/README.md; the search finds headings of guides first.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  Application,
  Converter,
  DocumentReflection,
  JSX,
  MinimalSourceFile,
  normalizePath,
  ReflectionKind,
  Renderer,
} from 'typedoc'

const root = normalizePath(fileURLToPath(new URL('..', import.meta.url)))
const GROUPS = { guides: 'Guides', reference: 'Reference', adr: 'Design decisions' }
const EXAMPLES = 'Examples'
const LANGUAGES = { ts: 'ts', yaml: 'yaml', mjs: 'js' }

export function load(app) {
  app.on(Application.EVENT_BOOTSTRAP_END, () => app.options.setValue('projectDocuments', documentsInOrder()))
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, document) => nameDocument(document))
  // after TypeDoc has read the README
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => addPages(app, project), -1000)
  app.renderer.hooks.on('content.end', (context) => neighbours(context))
  app.renderer.on(Renderer.EVENT_PREPARE_INDEX, (event) => addSearchFields(event))
}

/** The list of guides and references, in the order of learning. */
const lists = readFileSync(`${root}docs/README.md`, 'utf8')

/** Guides and references as the list has them, then the decisions. */
function documentsInOrder() {
  const listed = [...lists.matchAll(/\]\(((?:guides|reference)\/[\w-]+\.md)\)/g)].map(
    ([, path]) => `${root}docs/${path}`,
  )
  const number = (name) => Number.parseInt(name, 10)
  const decisions = readdirSync(`${root}docs/adr`).sort((a, b) => number(a) - number(b))
  return [...listed, ...decisions.map((name) => `${root}docs/adr/${name}`)]
}

/** A document has its first heading as its name, and stands in the group of its folder. */
function nameDocument(document) {
  const [folder] = document.name.split('/')
  const [, title] = /^# (.+)\n/.exec(textOf(document)) ?? []
  if (title === undefined || GROUPS[folder] === undefined) {
    throw new Error(`docs/${document.name}.md: a heading first, in one of ${Object.keys(GROUPS)}`)
  }
  document.name = title.replaceAll('`', '')
  document.frontmatter.group = GROUPS[folder]
}

function textOf(document) {
  return document.content.map((part) => part.text).join('')
}

function addPages(app, project) {
  const path = `${root}docs/README.md`
  const sections = lists.slice(lists.indexOf('\n## '))
  const { content } = app.converter.parseRawComment(new MinimalSourceFile(sections, path), project.files)
  project.readme = withoutPaths(project.readme).flatMap((part) => (part === LISTS ? content : [part]))
  project.files.registerReflectionPath(path, project)
  for (const entry of readdirSync(`${root}docs/examples`, { withFileTypes: true })) addExample(project, entry)
}

/** Stands where the lists of guides and references belong. */
const LISTS = { kind: 'text', text: '' }

/** The README with {@link LISTS} for its section about the files of the package. */
function withoutPaths(readme) {
  const heading = '\n## Documentation\n'
  const next = '\n## The demo\n'
  const [first, last] = [heading, next].map((text) => readme.findIndex((part) => part.text.includes(text)))
  if (first === -1 || last === -1) throw new Error(`README.md has no ${heading.trim()} before ${next.trim()}`)
  const [before] = readme[first].text.split(heading)
  const [, after] = readme[last].text.split(next)
  const text = (text) => ({ kind: 'text', text })
  return [...readme.slice(0, first), text(before), LISTS, text(`${next}${after}`), ...readme.slice(last + 1)]
}

/** The page of an example: what its first comment says, then each of its files. */
function addExample(project, entry) {
  const files = filesOf(entry)
  const described = files.find(({ name }) => name.endsWith('main.ts')) ?? files[0]
  const content = [
    { kind: 'text', text: `${firstComment(described.text)}\n\n` },
    ...files.flatMap(({ name, text }) => [
      { kind: 'text', text: `## ${name}\n\n` },
      { kind: 'code', text: fenced(text, LANGUAGES[name.split('.').at(-1)] ?? 'text') },
      { kind: 'text', text: '\n\n' },
    ]),
  ]
  const document = new DocumentReflection(entry.name, project, content, { group: EXAMPLES })
  project.addChild(document)
  project.registerReflection(document, undefined, undefined)
  for (const { path } of files) project.files.registerReflectionPath(path, document)
}

function filesOf(entry) {
  const path = `${root}docs/examples/${entry.name}`
  const names = entry.isDirectory()
    ? readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile())
        .map((file) => normalizePath(`${file.parentPath}/${file.name}`).slice(path.length + 1))
        .sort((a, b) => Number(b === 'main.ts') - Number(a === 'main.ts') || a.localeCompare(b))
    : ['']
  return names.map((name) => {
    const file = name === '' ? path : `${path}/${name}`
    return { name: name === '' ? entry.name : name, path: file, text: readFileSync(file, 'utf8') }
  })
}

function firstComment(text) {
  const lines = text.split('\n').filter((line) => !line.startsWith('#!'))
  const first = lines.findIndex((line) => line.startsWith('// '))
  if (first === -1 || lines.slice(0, first).some((line) => line !== '' && !line.startsWith('import '))) return ''
  const length = lines.slice(first).findIndex((line) => !line.startsWith('//'))
  return lines
    .slice(first, first + length)
    .map((line) => line.slice(3))
    .join('\n')
}

function fenced(text, language) {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``
}

/** Links to the guides before and after this one, in the order of learning. */
function neighbours({ page, urlTo }) {
  const { model, project } = page
  const guides = (project.documents ?? []).filter(({ frontmatter }) => frontmatter.group === GROUPS.guides)
  const index = guides.indexOf(model)
  if (index === -1) return JSX.createElement(JSX.Fragment, null)
  const link = (guide, label) =>
    guide && JSX.createElement('a', { href: urlTo(guide), class: 'guide-neighbour' }, `${label}: ${guide.name}`)
  return JSX.createElement(
    'nav',
    { class: 'guide-neighbours', 'aria-label': 'Guides' },
    link(guides[index - 1], 'Previous'),
    link(guides[index + 1], 'Next'),
  )
}

/**
 * How much a page counts in a search, by its group. A reader of a site looks for a task first; the
 * search of TypeDoc prefers the member whose name is the word itself, of which there are hundreds.
 */
const RELEVANCE = { [GROUPS.guides]: 60, [GROUPS.reference]: 10, [EXAMPLES]: 0.5, [GROUPS.adr]: 0.2 }
const RELEVANCE_OF_MEMBERS = 0.05

/** Of an example, the description is searched, and not its code: that has names of everything. */
function addSearchFields(event) {
  event.searchFieldWeights.headings = 8
  event.searchFieldWeights.task = 40
  event.searchResults.forEach((reflection, index) => {
    if (!(reflection instanceof DocumentReflection)) {
      const isExport = reflection.kindOf(ReflectionKind.SomeModule) || reflection.parent?.kindOf(ReflectionKind.Module)
      if (!isExport) reflection.relevanceBoost = RELEVANCE_OF_MEMBERS
      return
    }
    const { group } = reflection.frontmatter
    reflection.relevanceBoost = RELEVANCE[group]
    const fields = event.searchFields[index]
    if (group === EXAMPLES) fields.document = reflection.content[0].text
    else {
      fields.headings = [...textOf(reflection).matchAll(/^##+ (.+)$/gm)].map(([, heading]) => heading).join('\n')
      fields.task = lists.split('\n').find((line) => line.includes(`[${reflection.name}](`))
    }
  })
}
