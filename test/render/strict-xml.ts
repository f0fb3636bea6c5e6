/** An element of a document; a string is text between tags, with its references resolved. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly (XmlElement | string)[]
}

/**
 * Reads the part of XML 1.0 that a picture needs, and throws at everything else: comments,
 * processing instructions, CDATA, document types, single quotes around attributes, unknown
 * entities, attributes given twice, characters that XML forbids, and those that a parser would
 * change (a bare carriage return; a bare tab or line end in an attribute).
 */
export function parseXml(text: string): XmlElement {
  checkCharacters(text)
  const tags = /<(\/?)([A-Za-z][\w:.-]*)((?:\s+[A-Za-z][\w:.-]*="[^"<]*")*)\s*(\/?)>/y
  const root: { name: string; children: (XmlElement | string)[] } = { name: '', children: [] }
  const open = [root]
  let at = 0
  while (at < text.length) {
    const top = open.at(-1)!
    const next = text.indexOf('<', at)
    const end = next < 0 ? text.length : next
    if (end > at) top.children.push(resolve(text.slice(at, end)))
    if (next < 0) break
    tags.lastIndex = next
    const [tag, closing, name, list, empty] = tags.exec(text) ?? fail(`no tag at ${next}`, text.slice(next, next + 60))
    if (closing) {
      if (list !== '' || empty || top.name !== name) fail(`</${name}> closes <${top.name}>`)
      open.pop()
    } else {
      const element = { name: name!, attributes: attributesOf(list!), children: [] }
      top.children.push(element)
      if (!empty) open.push(element)
    }
    at = next + tag.length
  }
  if (open.length !== 1) fail(`<${open.at(-1)!.name}> is open at the end`)
  const [element, ...rest] = root.children
  if (element === undefined || typeof element === 'string' || rest.some((more) => more !== '\n'))
    fail('not one element')
  return element as XmlElement
}

/** All elements of a name, in the order of the document. */
export function all(element: XmlElement, name: string): XmlElement[] {
  return [
    ...(element.name === name ? [element] : []),
    ...element.children.flatMap((child) => (typeof child === 'string' ? [] : all(child, name))),
  ]
}

/** The text directly inside of an element. */
export function textOf(element: XmlElement | undefined): string {
  return element?.children.filter((child) => typeof child === 'string').join('') ?? fail('no such element')
}

function attributesOf(list: string): Record<string, string> {
  const attributes: Record<string, string> = {}
  for (const [, name, value] of list.matchAll(/([\w:.-]+)="([^"]*)"/g)) {
    if (name! in attributes) fail(`${name} is given twice`)
    if (/[\t\n]/.test(value!)) fail(`${name} has a line end or a tab`)
    attributes[name!] = resolve(value!)
  }
  return attributes
}

function resolve(raw: string): string {
  if (raw.includes(']]>')) fail(']]> in text')
  return raw.replace(/&([^;]{0,10};)?/g, (reference, name: string | undefined) => {
    const known = { 'amp;': '&', 'lt;': '<', 'gt;': '>', 'quot;': '"', 'apos;': "'" }[name ?? '']
    if (known !== undefined) return known
    const [, digits] = /^#(\d+);$/.exec(name ?? '') ?? fail(`unknown reference ${reference}`)
    const character = String.fromCodePoint(Number(digits))
    checkCharacters(character, true)
    return character
  })
}

/**
 * Char of XML 1.0: tab, line ends, and everything from a blank on but surrogates, U+FFFE and
 * U+FFFF.
 */
function checkCharacters(text: string, referenced = false): void {
  for (const character of text) {
    const code = character.codePointAt(0)!
    const blank = code === 9 || code === 10 || (code === 13 && referenced)
    const allowed = blank || (code >= 0x20 && code < 0xd800) || (code >= 0xe000 && code < 0xfffe) || code > 0xffff
    if (!allowed) fail(`U+${code.toString(16)} is no character of XML`)
  }
}

function fail(...words: string[]): never {
  throw new Error(words.join(': '))
}
