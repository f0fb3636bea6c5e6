// A plugin of TypeDoc: a document has its first heading as its name, and stands in a group with the
// other documents of its folder.
import { Converter } from 'typedoc'

const GROUPS = { guides: 'Guides', reference: 'Reference', adr: 'Design decisions' }

export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, document) => {
    const [folder] = document.name.split('/')
    const text = document.content.map((part) => part.text).join('')
    const [, title] = /^# (.+)\n/.exec(text) ?? []
    if (title === undefined || GROUPS[folder] === undefined) {
      throw new Error(`docs/${document.name}.md: a heading first, in one of ${Object.keys(GROUPS)}`)
    }
    document.name = title.replaceAll('`', '')
    document.frontmatter.group = GROUPS[folder]
  })
}
