import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { formatChecks } from '../../docs/examples/demo/checks.js'
import { colour, takesColour } from '../../docs/examples/demo/colour.js'
import { runDemo } from '../../docs/examples/demo/run.js'

const [GREEN, YELLOW, RED, CYAN, END] = [32, 33, 31, 36, 39].map((code) => `\u001b[${code}m`)

/** Runs the demo on a pool with 3 addresses and 4 claims, with colours if they are taken. */
async function demo(takes: boolean, ...args: readonly string[]) {
  let [out, err] = ['', '']
  await runDemo(['-f', 'docs/examples/manifests/05-runs-dry.yaml', ...args], {
    folder: fileURLToPath(new URL('../..', import.meta.url)),
    stdin: Readable.from([]),
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
    takesColour: takes,
  })
  return { out, err }
}

test('phases, failed checks and the characters in use of a map have colours', () => {
  expect(colour('a  Bound  x\nb  Pending\nc  Error PoolExhausted')).toBe(
    `a  ${GREEN}Bound${END}  x\nb  ${YELLOW}Pending${END}\nc  ${RED}Error${END} PoolExhausted`,
  )
  expect(colour('  ok      a\n  FAILED  b')).toBe(`  ok      a\n  ${RED}FAILED  b${END}`)
  expect(colour('  10.0.0.0    -##..%!')).toBe(`  10.0.0.0    -${CYAN}##${END}..${CYAN}%${END}${RED}!${END}`)
  expect(colour('  fd00::/120  .#')).toBe(`  fd00::/120  .${CYAN}#${END}`)
})

test('other text has no colour', () => {
  const text = 'Map: # in use  . free\n  0   4   8\n  10.0.0.0  -  -\n  10.0.0.1  a#b\nBoundary of Errors'
  expect(colour(text)).toBe(text)
})

test('the text is the same with colours and without', async () => {
  const [plain, coloured] = [await demo(false, '-v'), await demo(true, '-v')]
  expect(stripVTControlCharacters(coloured.out)).toBe(plain.out)
  for (const style of [GREEN, RED, CYAN]) expect(coloured.out).toContain(style)
  expect(plain.out).not.toContain('\u001b')
})

test.each(['json', 'yaml'])('a document in %s and the text beside it have no colour', async (format) => {
  const args = ['-o', format, '--delete', 'IPAddressClaim/office/printer-2']
  const { out, err } = await demo(true, ...args)
  expect(err).toContain('Error PoolExhausted')
  expect(out + err).not.toContain('\u001b')
})

test.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: true }, { NO_COLOR: '' }, true],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: false }, {}, false],
  [{}, {}, false],
])('a stream %j with %j takes colours: %s', (stream, environment, takes) => {
  expect(takesColour(stream, environment)).toBe(takes)
})

test('the short form counts checks, and shows failed ones in full', () => {
  const wrong = Array.from({ length: 12 }, (_, nth) => `place ${nth}`)
  const short = { limit: 10, isVerbose: false }
  expect(formatChecks([{ rule: 'a', wrong: [] }], short)).toBe('Checks: 1 of 1 hold')
  const failed = formatChecks(
    [
      { rule: 'a', wrong: [] },
      { rule: 'b', wrong },
    ],
    short,
  )
  expect(failed).toBe(
    `Checks: 1 of 2 hold\n  FAILED  b\n\nNot what is expected of the scenario:\n${wrong.map((line) => `  ${line}`).join('\n')}`,
  )
})
