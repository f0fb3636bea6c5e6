import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { adapterProcess } from './adapter-process.js'
import { adapters } from './adapters/index.js'
import { type Answer, answerKeys, type GivenCase } from './answer.js'
import { countAsUpstream } from './count.js'
import { type Deviation, deviations } from './deviations.js'
import { adapters as planted } from './planted.js'
import { report } from './report.js'
import { type Ask, type CaseFile, type CaseResult, isRed, messageOf, runFiles } from './runner.js'

const asks = (table: typeof adapters): Ask => {
  return async (file, given) => {
    try {
      return await (table[file] as (typeof adapters)[string])(given)
    } catch (error) {
      return { kind: 'broke', problem: messageOf(error) }
    }
  }
}

function suiteOf(cases: readonly unknown[], rules: readonly Deviation[] = []) {
  const files = [{ name: 'planted', text: JSON.stringify({ cases }) }]
  return { files, covered: new Set(['planted']), ask: asks(planted), deviations: rules }
}

async function casesOf(cases: readonly unknown[], rules: readonly Deviation[] = []): Promise<readonly CaseResult[]> {
  const [file] = await runFiles(suiteOf(cases, rules))
  return file?.kind === 'ran' ? file.cases : []
}

const answering = (value: unknown) => ({ do: 'answer', value })

describe('a case', () => {
  test.each([
    ['passes with the answer expected', { input: answering({ a: [1] }), expect: { a: [1] } }, 'passed'],
    ['fails with another', { input: answering({ a: [2] }), expect: { a: [1] } }, 'failed'],
    ['fails with more than expected', { input: answering({ a: 1, b: 1 }), expect: { a: 1 } }, 'failed'],
    ['fails with less', { input: answering({}), expect: { a: 1 } }, 'failed'],
    ['fails with a text for a number', { input: answering('1'), expect: 1 }, 'failed'],
    ['fails if the adapter throws', { input: { do: 'throw' }, expect: {} }, 'failed'],
    ['fails if the adapter rejects', { input: { do: 'reject' }, expect: {} }, 'failed'],
    ['is unsupported if the adapter says so', { input: { do: 'not know' }, expect: {} }, 'unsupported'],
    ['is unsupported with an unknown key', { input: {}, expect: { known: 1, unknown: 2 } }, 'unsupported'],
    ['is held to what is ours', { input: answering(1), expectUpstream: 2, expectOurs: 1 }, 'passed'],
    ['is not held to what is theirs', { input: answering(2), expectUpstream: 2, expectOurs: 1 }, 'failed'],
    ['fails if it expects nothing', { input: answering(undefined) }, 'failed'],
    ['fails if it is no object', 'a text', 'failed'],
  ])('%s', async (_, planned, kind) => {
    const [result] = await casesOf([planned])
    expect(result?.kind).toBe(kind)
  })

  test('reaches its adapter without id, name and source', async () => {
    const given = { input: { do: 'tell what it was given' }, expect: { fields: { when: 'now' } } }
    const labels = { id: 'x-1', case: 'a name', source: 'a file', note: 'a note', why: 'a reason' }
    expect((await casesOf([{ ...given, ...labels, when: 'now' }]))[0]?.kind).toBe('passed')
  })
})

describe('a deviation', () => {
  const rule: Deviation = {
    id: 'doubled',
    file: 'planted',
    reason: 'planted',
    applies: (input) => (input as { value?: unknown }).value !== 'out',
    expect: (_, expected) => (typeof expected === 'number' ? expected * 2 : expected),
  }

  test.each([
    ['counts where our answer is that of the rule', answering(4), 2, 'deviation'],
    ['fails where our answer is still that of the file', answering(2), 2, 'failed'],
    ['fails where our answer is a third one', answering(5), 2, 'failed'],
    ['does not count where the rule does not apply', answering('out'), 'out', 'passed'],
    ['does not count where the rule makes no difference', answering('text'), 'text', 'passed'],
  ])('%s', async (_, input, expected, kind) => {
    const [result] = await casesOf([{ input, expect: expected }], [rule])
    expect(result?.kind).toBe(kind)
  })

  test('of another file changes nothing', async () => {
    const [result] = await casesOf([{ input: answering(2), expect: 2 }], [{ ...rule, file: 'other' }])
    expect(result?.kind).toBe('passed')
  })

  test('that throws is a failure of the case', async () => {
    const broken: Deviation = {
      ...rule,
      applies: () => {
        throw new Error('planted')
      },
    }
    const [result] = await casesOf([{ input: answering(2), expect: 2 }], [broken])
    expect(result).toMatchObject({ kind: 'failed', problem: 'the rule doubled threw: planted' })
  })
})

describe('a file', () => {
  const run = (file: CaseFile) => runFiles({ ...suiteOf([]), files: [file] })

  test.each([
    ['no JSON', '{"cases": ['],
    ['no object', '[]'],
    ['no cases', '{}'],
    ['not one case', '{"cases": []}'],
  ])('with %s is red, covered or not', async (_, text) => {
    for (const name of ['planted', 'other']) expect(isRed(await run({ name, text }))).toBe(true)
  })

  test('without an adapter is named and not red', async () => {
    const results = await run({ name: 'other', text: '{"cases": [{}, {}]}' })
    expect(results).toEqual([{ kind: 'uncovered', name: 'other', caseCount: 2 }])
    expect(isRed(results)).toBe(false)
  })
})

test('the report has a line for each file, what is wrong below it, and the total', async () => {
  const suite = suiteOf([
    { id: 'p-1', case: 'good', input: answering(1), expect: 1 },
    { id: 'p-2', case: 'bad\nname', input: answering(2), expect: 1 },
    { id: 'p-3', case: 'strange', input: { do: 'not know' }, expect: {} },
    { case: 'no id', input: { do: 'throw' }, expect: {} },
    { id: 'p-5', case: 'ours', input: answering(-1), expect: 1 },
  ])
  const negated: Deviation = {
    id: 'negated',
    file: 'planted',
    reason: 'planted',
    applies: (input) => (input as { value?: unknown }).value === -1,
    expect: () => -1,
  }
  const files = [...suite.files, { name: 'other', text: '{"cases": [{}]}' }]
  const results = await runFiles({ ...suite, files, deviations: [negated] })
  expect(isRed(results)).toBe(true)
  expect(report(results, { verbose: false })).toEqual([
    'planted.json: 1 passed, 2 failed, 1 unsupported, 1 deviations of 5',
    '  failed: p-2 (bad name): another answer',
    '  unsupported: p-3 (strange): a word',
    '  failed: #4 (no id): planted',
    'other.json: not covered yet (1 cases)',
    'total: 1 passed, 2 failed, 1 unsupported, 1 deviations of 5 in 1 files; 1 files not covered yet (1 cases)',
  ])
  const verbose = report(results, { verbose: true })
  expect(verbose.slice(2, 5)).toEqual(['    input:    {"do":"answer","value":2}', '    expected: 1', '    got:      2'])
  expect(verbose).toContain('  deviation: p-5 (ours): negated')
  expect(verbose).toContain('    in file:  1')
})

describe('the process of the adapters', () => {
  const { ask, close } = adapterProcess({ adapters: new URL('./planted.ts', import.meta.url), timeLimitMs: 2000 })
  afterAll(close)
  const given = (trick: string, value?: unknown): GivenCase => ({
    input: { do: trick, value },
    expect: {},
    fields: {},
  })

  // each but the first is asked after one that went wrong: it gets its own answer all the same
  test.each([
    ['answers', 'answer', undefined],
    ['outlives a throw', 'throw', 'the adapter threw: planted'],
    ['outlives a rejection', 'reject', 'the adapter threw: planted rejection'],
    ['outlives an answer that is no data', 'answer no data', 'the answer is no data'],
    ['stops one that waits for ever', 'never answer', 'no answer within 2 s'],
    ['stops one that computes for ever', 'never return', 'no answer within 2 s'],
    ['is started again after its end', 'end the process', 'the adapter ended its process (exit code 3)'],
    ['is started again after a crash', 'crash while waiting', 'the adapter crashed: planted crash'],
  ])('%s', async (_, trick, problem) => {
    if (problem !== undefined) {
      expect(await ask('planted', given(trick))).toEqual({ kind: 'broke', problem: expect.stringContaining(problem) })
    }
    expect(await ask('planted', given('answer', 2n ** 70n))).toEqual({ kind: 'answered', got: 2n ** 70n })
  })

  test('has no adapter under a name of Object.prototype', async () => {
    expect(await ask('toString', given('answer'))).toMatchObject({ kind: 'broke' })
  })
})

describe('the command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acceptance-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const script = fileURLToPath(new URL('./run.ts', import.meta.url))
  const command = (...args: string[]) =>
    new Promise<{ readonly code: number | null; readonly text: string }>((resolve) => {
      const run = execFile(process.execPath, ['--import', tsx, script, ...args], (_, stdout, stderr) =>
        resolve({ code: run.exitCode, text: stdout + stderr }),
      )
    })
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.json`), text)
  const counting = (count: number) => ({
    id: `count-${count}`,
    input: { function: 'count', addresses: ['10.0.0.0/30'] },
    expect: { count },
  })

  test('is green without the folder, and says so', async () => {
    const { code, text } = await command('--dir', join(folder, 'nowhere'))
    expect(text).toContain('nothing to run')
    expect(code).toBe(0)
  })

  test('is red for a folder without case files', async () => {
    expect((await command('--dir', folder)).code).toBe(1)
  })

  test('refuses an option that it does not know', async () => {
    const { code, text } = await command('--directory', folder)
    expect(text).toContain('usage: ')
    expect(code).toBe(2)
  })

  test('runs the files of the folder, or one of them', async () => {
    write('capi-poolutil', JSON.stringify({ cases: [counting(4), counting(5)] }))
    write('broken', '{')
    write('later', '{"cases": [1]}')
    const all = await command('--dir', folder)
    expect(all.text.split('\n')).toEqual([
      'broken.json: 0 passed, 1 failed, 0 unsupported, 0 deviations of 1',
      expect.stringMatching(/^ {2}failed: \(file\) \(broken\): not JSON: /),
      'capi-poolutil.json: 1 passed, 1 failed, 0 unsupported, 0 deviations of 2',
      '  failed: count-5: another answer',
      'later.json: not covered yet (1 cases)',
      'total: 1 passed, 2 failed, 0 unsupported, 0 deviations of 3 in 2 files; 1 files not covered yet (1 cases)',
      '',
    ])
    expect(all.code).toBe(1)

    write('capi-poolutil', JSON.stringify({ cases: [counting(4)] }))
    expect((await command('--dir', folder, '--file', 'capi-poolutil.json')).code).toBe(0)
  })
})

describe('adapters', () => {
  test('are in the table, each under the name of its module', () => {
    const modules = readdirSync(new URL('./adapters', import.meta.url)).filter((name) => name !== 'index.ts')
    expect(Object.keys(adapters).sort()).toEqual(modules.map((name) => name.replace(/\.ts$/, '')).sort())
  })

  const given = (input: unknown, expected: unknown): GivenCase => ({ input, expect: expected, fields: {} })
  const addressPool = { kind: 'InClusterIPPool', spec: { addresses: ['10.0.0.8/30'], prefix: 24 }, claims: 1 }

  test.each([
    ['function', 'capi-poolutil', given({ function: 'unheardOf' }, {})],
    ['field', 'capi-poolutil', given({ function: 'count', addresses: [], strategy: 'random' }, {})],
    ['expectation', 'capi-poolutil', given({ function: 'count', addresses: [] }, { count: 0, colour: 'blue' })],
    ['kind', 'capi-pool-status', given({ ...addressPool, kind: 'IPPool' }, {})],
    ['field', 'capi-pool-status', given({ ...addressPool, clusters: 2 }, {})],
    ['expectation', 'capi-pool-status', given(addressPool, { after: { reserved: 2 } })],
  ])('say that they do not know a %s (%s)', async (_, file, unknownCase) => {
    expect((await asks(adapters)(file, unknownCase)).kind).toBe('unsupported')
  })

  test.each<[string, GivenCase, unknown]>([
    [
      'all that can be asked of a set',
      given(
        { function: 'poolSpecToSet', spec: { addresses: ['10.0.0.8/30'], prefix: 24, gateway: '10.0.0.9' } },
        {
          contains: ['10.0.0.8', '10.0.0.9'],
          notContains: ['10.0.0.8', '10.0.0.9'],
          containsRange: ['10.0.0.10-10.0.0.11', '10.0.0.8-10.0.0.11'],
          notContainsRange: ['10.0.0.8/30'],
          count: 0,
          error: true,
        },
      ),
      {
        contains: ['10.0.0.8'],
        notContains: ['10.0.0.9'],
        containsRange: ['10.0.0.10-10.0.0.11'],
        notContainsRange: ['10.0.0.8/30'],
        count: 3,
        error: false,
      },
    ],
    [
      'an error instead of all else',
      given({ function: 'count', addresses: ['10.0.0.8/33'] }, { count: 1 }),
      { error: expect.stringContaining('10.0.0.8/33') },
    ],
    [
      'in use: a range, a CIDR, an object and a text that is no address',
      given(
        {
          function: 'poolSpecToSet+findFree',
          spec: { addresses: ['10.0.0.8-10.0.0.20'], prefix: 24 },
          inUse: ['10.0.0.8-10.0.0.9', '10.0.0.10/31', { address: '10.0.0.12', prefix: 24 }, '10.0.0.30', 'x-y'],
        },
        { firstFree: '', outOfRange: 0, freeError: '' },
      ),
      { firstFree: '10.0.0.13', outOfRange: 1, freeError: false },
    ],
    [
      'in use by a prefix pool, as spec',
      given(
        {
          function: 'prefixPool',
          spec: { prefixes: ['fd00::/61'] },
          inUse: ['fd00::/63', 'fd00:0:0:2::5', { address: 'fd00:0:0:3::', prefix: 64 }, 'fd00:0:0:4::-fd00:0:0:4::1'],
        },
        { firstFree: '', total: 0, outOfRange: 0 },
      ),
      { firstFree: 'fd00:0:0:5::/64', total: 8, outOfRange: 4 },
    ],
    [
      'in use by a prefix pool, as config',
      given(
        {
          function: 'prefixPool',
          config: { prefixes: ['fd00::/61'], allocationPrefixLength: 64 },
          inUse: ['fd00::/63', 'fd00:0:0:2::5', { address: 'fd00:0:0:3::', prefix: 64 }],
        },
        { firstFree: '', candidateCount: 0 },
      ),
      { firstFree: 'fd00:0:0:4::/64', candidateCount: 8 },
    ],
    [
      'a config without a length, which has no default',
      given({ function: 'prefixPool', config: { prefixes: ['fd00::/61'] } }, { error: true }),
      { error: true },
    ],
  ])('know %s', async (_, asked, got) => {
    expect(await asks(adapters)('capi-poolutil', asked)).toEqual({ kind: 'answered', got } satisfies Answer)
  })

  test('know the status before and after, and in the end', async () => {
    const updatedSpec = { addresses: ['10.0.0.9-10.0.0.10'], prefix: 24 }
    const counts = { total: 0, used: 0, free: 0, outOfRange: 0 }
    const asked = given({ ...addressPool, updatedSpec }, { before: counts, after: counts, ...counts })
    const last = { total: 2, used: 1, free: 2, outOfRange: 1 }
    expect(await asks(adapters)('capi-pool-status', asked)).toEqual({
      kind: 'answered',
      got: { before: { total: 4, used: 0, free: 4, outOfRange: 0 }, after: last, ...last },
    })
  })

  test('count as upstream does', () => {
    const asParsed = JSON.parse('9223372036854775807')
    expect([2n ** 63n - 1n, 2n ** 63n, 2n ** 128n].map(countAsUpstream)).toEqual([asParsed, asParsed, asParsed])
    expect(countAsUpstream(2 ** 63 - 1024)).toBe(asParsed)
    expect(countAsUpstream(2n ** 63n - 2048n)).toBe(JSON.parse('9223372036854773760'))
    expect(countAsUpstream(2n ** 54n + 1n)).toBe(JSON.parse('18014398509481985'))
    expect(countAsUpstream(-2)).toBe(-2)
  })

  test('answer key by key, at every depth', () => {
    const table = { a: () => 1, deep: { b: () => 2 } }
    expect(answerKeys({ a: 0, deep: { b: 0 } }, table)).toEqual({ kind: 'answered', got: { a: 1, deep: { b: 2 } } })
    expect(answerKeys({ deep: { c: 0 } }, table)).toEqual({ kind: 'unsupported', what: 'expect.deep.c' })
    expect(answerKeys({ toString: 0 }, table)).toEqual({ kind: 'unsupported', what: 'expect.toString' })
    expect(answerKeys([], table).kind).toBe('unsupported')
  })
})

describe('deviations', () => {
  const page = readFileSync(new URL('../../docs/reference/deviations.md', import.meta.url), 'utf8')

  test('are the headings of their section in docs/reference/deviations.md', () => {
    const section = page.split(/^## /m).find((text) => text.startsWith('Rules of the acceptance cases\n')) ?? ''
    const headings = [...section.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)
    expect(headings.sort()).toEqual(deviations.map(({ id }) => id).sort())
  })

  test('have ids of their own, and a file that is covered', () => {
    expect(new Set(deviations.map(({ id }) => id)).size).toBe(deviations.length)
    for (const { file } of deviations) expect(Object.keys(adapters)).toContain(file)
  })

  test('free-never-negative looks at the input, and puts back what is out of range at every level', () => {
    const rule = deviations.find(({ id }) => id === 'free-never-negative') as Deviation
    const updatedSpec = {}
    expect(rule.applies({ kind: 'InClusterIPPool', updatedSpec })).toBe(true)
    expect(rule.applies({ kind: 'GlobalInClusterIPPool', updatedSpec })).toBe(true)
    expect(rule.applies({ kind: 'InClusterIPPool' })).toBe(false)
    expect(rule.applies({ kind: 'InClusterPrefixPool', updatedSpec })).toBe(false)
    expect(rule.expect({}, { total: 3, free: -4, outOfRange: 5 })).toEqual({ total: 3, free: 1, outOfRange: 5 })
    expect(rule.expect({}, { free: -4 })).toEqual({ free: -4 })
    expect(rule.expect({}, { used: 5, after: { free: 2, outOfRange: 1 } })).toEqual({
      used: 5,
      after: { free: 3, outOfRange: 1 },
    })
  })
})
