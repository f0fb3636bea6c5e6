import { readFileSync } from 'node:fs'
import { CNI_ERRORS, CNI_VERSIONS } from 'ipam-kit/cni'
import { expect, test } from 'vitest'
import { CODE_BY_RETRY, OWN_CODES } from '../../src/cni/error.js'

const page = readFileSync(new URL('../../docs/reference/cni.md', import.meta.url), 'utf8')
const part = (name: string) => page.split(`<!-- ${name} -->\n`)[1]?.split(`<!-- /${name} -->`)[0]

test('the page has each error code of CNI', () => {
  const rows = CNI_ERRORS.map(({ code, name, meaning, retry }) => `| ${code} | ${name} | ${meaning} | ${retry} |\n`)
  expect(part('codes')).toBe(['| code | name | meaning | retry |\n', '|---|---|---|---|\n', ...rows].join(''))
})

test('the page has the CNI code of each error of the library', () => {
  const own = Object.entries(OWN_CODES).map(([name, code]) => [code, `\`${name}\``] as const)
  const others = Object.entries(CODE_BY_RETRY).map(
    ([retry, code]) => [code, `all others to retry \`${retry}\``] as const,
  )
  const rows = CNI_ERRORS.flatMap(({ code }) => {
    const texts = [...own, ...others].flatMap(([each, text]) => (each === code ? [text] : []))
    return texts.length === 0 ? [] : [`| ${code} | ${texts.join(', ')} |\n`]
  })
  expect(part('errors')).toBe(['| CNI code | errors |\n', '|---|---|\n', ...rows].join(''))
})

test('the page names each version', () => {
  for (const version of CNI_VERSIONS) expect(page).toContain(version)
})
