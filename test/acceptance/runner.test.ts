import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { isDeep } from '../setup/depth.js'
import { adapterProcess } from './adapter-process.js'
import { adapters, allocatorLevel } from './adapters/index.js'
import { type Answer, answerKeys, type GivenCase } from './answer.js'
import { acceptance } from './command.js'
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
    [
      'is not built yet if the adapter knows another part',
      { input: { do: 'know another part' }, expect: {} },
      'notBuilt',
    ],
    ['is unsupported with an unknown key', { input: {}, expect: { known: 1, unknown: 2 } }, 'unsupported'],
    ['is held to what is ours', { input: answering(1), expectUpstream: 2, expectOurs: 1 }, 'passed'],
    ['is not held to what is theirs', { input: answering(2), expectUpstream: 2, expectOurs: 1 }, 'failed'],
    [
      'is held to what is theirs where ours is the same',
      { input: answering(2), expectUpstream: 2, expectOurs: 'same as upstream' },
      'passed',
    ],
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

test('what is not built of a file counts as unsupported, and alone makes no run red', async () => {
  const suite = suiteOf([
    { id: 'p-1', input: answering(1), expect: 1 },
    { id: 'p-2', case: 'later', input: { do: 'know another part' }, expect: {} },
  ])
  const results = await runFiles(suite)
  expect(isRed(results)).toBe(false)
  const line = '1 passed, 0 failed, 1 unsupported, 0 deviations of 2 (1 not built yet)'
  expect(report(results, { verbose: false })).toEqual([`planted.json: ${line}`, `total: ${line} in 1 files`])
  expect(report(results, { verbose: true })).toContain('  not built yet: p-2 (later): only one part is')

  const withUnknown = suiteOf([
    { input: { do: 'know another part' }, expect: {} },
    { input: { do: 'not know' }, expect: {} },
  ])
  expect(isRed(await runFiles(withUnknown))).toBe(true)
})

test('a file at another level than that of the allocator is proven on its system', () => {
  const root = new URL('./adapters/', import.meta.url)
  const onAllocator = Object.keys(adapters).filter((name) => {
    const module = name === 'security-cidr' ? undefined : new URL(`${name}.ts`, root)
    return module !== undefined && readFileSync(module, 'utf8').includes("from 'ipam-kit/allocator'")
  })
  expect(onAllocator.filter((name) => !allocatorLevel.has(name))).toEqual([])
  expect([...allocatorLevel].filter((name) => !(name in adapters))).toEqual([])
})

test('files whose systems are not built are printed apart', async () => {
  const results = await runFiles({ ...suiteOf([]), files: ['a', 'b'].map((name) => ({ name, text: '{"cases":[]}' })) })
  const broken = '0 passed, 1 failed, 0 unsupported, 0 deviations of 1'
  expect(report(results, { verbose: false, allocatorLevel: new Set(['a']) })).toEqual([
    `b.json: ${broken}`,
    '  failed: (file) (b): not one case',
    'allocator level: their systems are not built, cases run on cidr and allocator',
    `a.json: ${broken}`,
    '  failed: (file) (a): not one case',
    'total: 0 passed, 2 failed, 0 unsupported, 0 deviations of 2 in 2 files',
    `allocator level: ${broken} in 1 files`,
  ])
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
  const command = async (...args: string[]) => {
    const lines: string[] = []
    const add = (line: string) => void lines.push(line)
    const code = await acceptance(args, { log: add, error: add })
    return { code, text: `${lines.join('\n')}\n` }
  }
  const commandProcess = (...args: string[]) =>
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

    // each loads all adapters
    if (!isDeep) return
    write('capi-poolutil', JSON.stringify({ cases: [counting(4)] }))
    expect((await command('--dir', folder, '--file', 'capi-poolutil.json')).code).toBe(0)
  })

  // the step `acceptance` of .ci/run is such a process
  if (isDeep) {
    test.each(['--dir', '--directory'])('says and ends with the same as a process of its own: %s', async (option) => {
      expect(await commandProcess(option, folder)).toEqual(await command(option, folder))
    })
  }
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
    ['expectation', 'capi-poolutil', given({ function: 'count', addresses: [] }, { count: 0, colour: 'blue' })],
    ['kind', 'capi-pool-status', given({ ...addressPool, kind: 'IPPool' }, {})],
    ['expectation', 'capi-pool-status', given(addressPool, { after: { reserved: 2 } })],
    ['op', 'security-cidr', given({ op: 'unheardOf', text: '1.2.3.4' }, {})],
    ['field', 'security-cidr', given({ op: 'parseCidr', text: '1.2.3.4/8', colour: 'blue' }, {})],
    ['expectation', 'security-cidr', given({ op: 'parseCidr', text: '1.2.3.4/8' }, { ok: true, colour: 'blue' })],
    ['kind of address', 'security-cidr', given({ op: 'classify', text: '1.2.3.4' }, { martian: true })],
    ['function', 'whereabouts-iphelpers', given({ fn: 'unheardOf' }, {})],
    ['expectation', 'whereabouts-iphelpers', given({ fn: 'bounds', cidr: '10.0.0.0/8' }, { gateway: '10.0.0.1' })],
    ['expectation', 'whereabouts-metallb-pools', given({ cidrs: ['10.0.0.0/8'] }, { total: 0, colour: 'blue' })],
    [
      'selector',
      'whereabouts-metallb-pools',
      given({ pools: { a: { cidrs: [], serviceSelectors: ['a in (b)'] } } }, {}),
    ],
    [
      'expectation',
      'capi-metal3',
      given({ function: 'poolSize', pool: { subnet: '10.0.0.0/24' } }, { colour: 'blue' }),
    ],
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

  test.each<[string, unknown, unknown]>(
    [
      [
        { op: 'parseAddress', repeat: { unit: '1', count: 3 } },
        { ok: false, errorTextMaxLength: 300, maxMs: 1000 },
        { ok: false, errorTextMaxLength: 300, maxMs: 1000 },
      ],
      [
        { op: 'parseAddress', text: 'x' },
        { errorTextMaxLength: 10, suggest: '', canonical: '' },
        { errorTextMaxLength: expect.any(Number), suggest: null, canonical: null },
      ],
      [
        { op: 'parseAddress', value: null },
        { ok: true, error: '' },
        { ok: false, error: 'typed, names the type that came' },
      ],
      [{ op: 'parseCidr' }, { error: '' }, { error: 'typed, names the type that came' }],
      [
        { op: 'parseAddress', text: '1.2.3.x' },
        { ok: true, error: '' },
        { ok: false, error: expect.stringContaining('1.2.3.x') },
      ],
      [
        { op: 'parseAddress', text: 'fe80::1%eth0', zone: 'allow' },
        { canonical: '', zone: '', warning: true },
        { canonical: 'fe80::1%eth0', zone: 'eth0', warning: false },
      ],
      [
        { op: 'parseCidr', text: '10.0.0.5/24', profile: 'k8s-legacy-read' },
        { canonical: '', warning: false },
        { canonical: '10.0.0.5/24', warning: true },
      ],
      [
        { op: 'add', text: '255.255.255.255', offset: 1 },
        { ok: true, none: false },
        { ok: false, none: true },
      ],
      [
        { op: 'previous', text: '::' },
        { ok: true, canonical: '' },
        { ok: false, canonical: null },
      ],
      [
        { op: 'key', texts: ['::1', '0::1'] },
        { ok: true, distinct: 2 },
        { ok: true, distinct: 1 },
      ],
      [
        { op: 'sort', texts: ['::1/128', '10.0.0.0/16', '10.0.0.0/8'] },
        { sorted: [] },
        { sorted: ['10.0.0.0/8', '10.0.0.0/16', '::1/128'] },
      ],
      [
        { op: 'split', text: '10.0.0.0/30', bits: 31 },
        { cidrs: [], count: '', last: '' },
        { cidrs: ['10.0.0.0/31', '10.0.0.2/31'], count: '2', last: '10.0.0.2/31' },
      ],
      [
        { op: 'toPrefixes', text: '10.0.0.1-10.0.0.3' },
        { ok: false, cidrs: [] },
        { ok: true, cidrs: ['10.0.0.1/32', '10.0.0.2/31'] },
      ],
      [{ op: 'overlaps', outer: '10.0.0.0/16', inner: '10.0.0.0/8' }, { result: false }, { result: true }],
      [{ op: 'contains', outer: '10.0.0.1-10.0.0.3', text: '10.0.0.4' }, { result: true }, { result: false }],
      [{ op: 'svgLabel', text: '<b>' }, { mustNotContain: ['<b>', '<svg'] }, { mustNotContain: ['<b>'] }],
      [
        { op: 'errorText', text: '<b>' },
        { mustNotContain: '<b>', ok: true },
        { mustNotContain: null, ok: true },
      ],
      [{ op: 'errorText', text: '<b>' }, { errorTextMaxLength: 1 }, { errorTextMaxLength: expect.any(Number) }],
      [
        { op: 'record', texts: ['__proto__', 'plain'] },
        { ok: false, polluted: true },
        { ok: true, polluted: false },
      ],
      [
        { op: 'classify', text: '10.0.0.1/8' },
        { private: false, kind: '' },
        { private: true, kind: 'private' },
      ],
    ].map(([input, asked, got]) => [JSON.stringify(input), given(input, asked), got]),
  )('answer %s as it is, whatever is expected', async (_, asked, got) => {
    expect(await asks(adapters)('security-cidr', asked as GivenCase)).toEqual({ kind: 'answered', got })
  })

  test.each<[string, GivenCase, unknown]>(
    [
      [{ fn: 'compare', a: '10.0.0.1', b: '::ffff:10.0.0.1' }, { result: 5 }, { result: 0 }],
      [{ fn: 'increment', ip: '255.255.255.255' }, { result: '0.0.0.0' }, { error: expect.any(String) }],
      [
        { fn: 'usable', cidr: 'fd00::/127' },
        { hasUsable: true, errorPrefix: 'other' },
        { hasUsable: false, errorPrefix: expect.stringMatching(/^net mask is too short, subnet \{fd00:: f{31}e\}/) },
      ],
      [
        { fn: 'effectiveRange', cidr: '10.0.0.0/24', rangeStart: '10.0.0.9', rangeEnd: '10.0.0.8' },
        { first: '', last: '' },
        { first: '10.0.0.9', last: '10.0.0.254' },
      ],
      [{ fn: 'divide', cidr: '10.0.0.0/24', size: '/23' }, { error: true }, { error: true }],
      [
        { fn: 'offset', a: 'ff02::1', b: '10.0.0.1' },
        { error: '' },
        { error: 'cannot calculate offset between IPv6 (ff02::1) and IPv4 address (10.0.0.1)' },
      ],
    ].map(([input, asked, got]) => [JSON.stringify(input), given(input, asked), got]),
  )('answer %s in the words of whereabouts', async (_, asked, got) => {
    expect(await asks(adapters)('whereabouts-iphelpers', asked)).toEqual({ kind: 'answered', got })
  })

  test.each<[string, GivenCase, unknown]>(
    [
      [
        { cidrs: ['1.2.0.0/23', '1000::/65'], avoidBuggyIPs: true },
        { total: 0, ipv4: 0, ipv6: '' },
        { total: '9223372036854775807', ipv4: 508, ipv6: '9223372036854775807' },
      ],
      [
        { addresses: ['1.2.3.9-1.2.3.1'] },
        { error: true, contains: 'is after the end IP' },
        { error: true, contains: 'is after the end IP' },
      ],
      [{ addresses: ['1.2.3.4'] }, { error: true, contains: 'other' }, { error: true, contains: null }],
      [{ pools: { a: ['10.0.0.0/8'], b: ['10.1.0.0/16'] } }, { error: true }, { error: true }],
      [{ pools: { a: ['10.0.0.0/8'], b: ['11.0.0.0/8'] } }, { error: true }, { error: false }],
      [{ poolNames: ['a', 'b'] }, { error: true }, { error: false }],
    ].map(([input, asked, got]) => [JSON.stringify(input), given(input, asked), got]),
  )('answer %s as MetalLB reads pools', async (_, asked, got) => {
    expect(await asks(adapters)('whereabouts-metallb-pools', asked)).toEqual({ kind: 'answered', got })
  })

  test.each<[string, GivenCase, unknown]>(
    [
      [
        { pools: { a: ['10.0.0.0/31', 'fd00::/127'] }, services: 3, family: 'dual' },
        { okCount: 0, third: '', first: '', validSet: ['10.0.0.0'] },
        {
          okCount: 2,
          third: 'error',
          first: '10.0.0.0,fd00::',
          validSet: ['10.0.0.0', 'fd00::', '10.0.0.1', 'fd00::1'],
        },
      ],
      [
        {
          pools: { a: ['10.0.0.0/30'] },
          steps: [
            ['s1', '10.0.0.1', ['tcp/80', 'tcp/81'], 'key', 'a', true],
            ['s2', '10.0.0.1', ['tcp/81'], 'key', 'a', true],
            ['s2', '10.0.0.1', ['udp/81'], 'key', 'a', true],
            ['s2', '10.0.0.1', ['udp/81'], 'key', 'b', true],
            ['s5', '10.0.0.1', ['udp/81'], 'key', 'a', true],
            ['s3', 'get', ['tcp/80'], 'key', 'a', true],
            ['s3', '10.0.1.0', false],
            ['s1', null, true],
            ['s4', '10.0.0.1', ['tcp/80'], '', '', true],
          ],
        },
        { all: 'as listed', okCount: 0 },
        { all: [true, false, true, false, false, true, false, true, false], okCount: 4 },
      ],
      [
        { pools: { a: ['10.0.0.0/31'], b: ['fd00::/127'] }, assign: ['10.0.0.0', 'fd00::'] },
        { ok: true },
        { ok: false },
      ],
      [
        {
          before: { a: ['10.0.0.0/31'], b: ['10.0.0.2/31'] },
          held: { s1: '10.0.0.0', s2: '10.0.0.2' },
          after: { b: ['10.0.0.0/31'] },
        },
        { poolOf: { s1: 'a', s2: 'a', s3: 'a' } },
        { poolOf: { s1: 'b', s2: null, s3: null } },
      ],
      [{ holds: 'fd00::1', ask: 'ipv4' }, { error: false }, { error: true }],
      [
        { holds: 'fd00::1', ask: 'ipv6' },
        { error: true, ip: '' },
        { error: false, ip: 'fd00::1' },
      ],
      [{ priorities: { a: 0, b: 3, c: 2 } }, { order: ['a'] }, { order: ['c', 'b', 'a'] }],
    ].map(([input, asked, got]) => [JSON.stringify(input), given(input, asked), got]),
  )('answer %s as MetalLB gives addresses', async (_, asked, got) => {
    expect(await asks(adapters)('whereabouts-metallb-pools', asked)).toEqual({ kind: 'answered', got })
  })

  const metal3Claim = (spec: object, annotations: object = {}) => ({
    function: 'allocate',
    spec: { prefix: 29, gateway: '10.0.0.1', pools: [{ start: '10.0.0.8', end: '10.0.0.11' }], ...spec },
    claim: { name: 'claim', annotations },
    inUse: ['10.0.0.8', '10.0.0.11'],
  })

  test.each<[string, GivenCase, unknown]>(
    [
      [
        { function: 'addressAtIndex', pool: { subnet: '10.0.0.8/30' }, index: 1 },
        { address: '' },
        { address: '10.0.0.10' },
      ],
      [{ function: 'addressAtIndex', pool: { subnet: '10.0.0.9/30' }, index: 2 }, { error: true }, { error: true }],
      [
        { function: 'addressAtIndex', pool: { start: '10.0.0.9' }, index: 300 },
        { address: '' },
        { address: '10.0.1.53' },
      ],
      [
        { function: 'addOffset', ip: '10.0.0.9', offset: 2, end: '10.0.0.10' },
        { address: '' },
        { error: expect.any(String) },
      ],
      [{ function: 'poolSize', pool: { subnet: '10.0.0.9/24' } }, { size: 255 }, { size: 246 }],
      [{ function: 'poolSize', pool: { subnet: 'fd00::/64' } }, { error: true }, { error: true }],
      [{ function: 'validateEntry', pool: { start: '10.0.0.9', end: '10.0.0.8' } }, { valid: true }, { valid: false }],
      [
        metal3Claim({ preAllocations: { other: '10.0.0.9' } }),
        { address: '', prefix: 0, gateway: '', dnsServers: [''] },
        { address: '10.0.0.10', prefix: 29, gateway: '10.0.0.1', dnsServers: [] },
      ],
      [metal3Claim({}, { ipAddress: '10.0.0.11' }), { message: '' }, { message: 'Requested IP not available' }],
      [metal3Claim({}, { ipAddress: '10.0.0.12' }), { message: '' }, { message: 'Exhausted IP Pools' }],
      [
        metal3Claim({ preAllocations: { claim: '10.0.0.9' } }, { ipAddress: '10.0.0.8' }),
        { error: true, message: '' },
        { error: true, message: 'PreAllocation and requested ip address are conflicting' },
      ],
      [metal3Claim({ preAllocations: { claim: '10.0.0.11' } }), { address: '' }, { address: '10.0.0.11' }],
    ].map(([input, asked, got]) => [JSON.stringify(input), given(input, asked), got]),
  )('answer %s as metal3 gives addresses', async (_, asked, got) => {
    expect(await asks(adapters)('capi-metal3', asked)).toEqual({ kind: 'answered', got })
  })

  test('report an unknown function of metal3', async () => {
    expect(await asks(adapters)('capi-metal3', given({ function: 'unheardOf' }, {}))).toMatchObject({
      kind: 'unsupported',
    })
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

  test('never-wraps is about the two ends of each family', () => {
    const rule = deviations.find(({ id }) => id === 'never-wraps') as Deviation
    const last6 = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
    for (const ip of ['255.255.255.255', '::ffff:255.255.255.255', last6])
      expect(rule.applies({ fn: 'increment', ip })).toBe(true)
    for (const ip of ['0.0.0.0', '::']) expect(rule.applies({ fn: 'decrement', ip })).toBe(true)
    for (const ip of ['0.0.0.0', '::', '255.255.255.254', 'x', 4])
      expect(rule.applies({ fn: 'increment', ip })).toBe(false)
    for (const ip of ['255.255.255.255', last6, '0.0.0.1']) expect(rule.applies({ fn: 'decrement', ip })).toBe(false)
    expect(rule.applies({ fn: 'bounds', cidr: '0.0.0.0/0' })).toBe(false)
    expect(rule.expect({}, { result: '0.0.0.0' })).toEqual({ error: true })
  })

  test('metallb-selectors is about a list of selectors alone', () => {
    const rule = deviations.find(({ id }) => id === 'metallb-selectors') as Deviation
    expect(rule.applies({ namespaces: ['a', 'a'] })).toBe(true)
    expect(rule.applies({ serviceSelectors: ['a=b', 'a=b'] })).toBe(true)
    expect(rule.applies({ namespaces: ['a'], addresses: ['10.0.0.0/8'] })).toBe(false)
    expect(rule.applies({ poolNames: ['a', 'a'] })).toBe(false)
    expect(rule.applies({})).toBe(false)
    expect(rule.expect({ namespaces: ['a', 'a'] }, { error: true })).toEqual({ notModelled: ['namespaces'] })
  })

  test('metal3-size-as-given is about subnets with host bits alone', () => {
    const rule = deviations.find(({ id }) => id === 'metal3-size-as-given') as Deviation
    const sizeOf = (pool: unknown) => ({ function: 'poolSize', pool })
    expect(rule.applies(sizeOf({ subnet: '10.0.0.9/24' }))).toBe(true)
    expect(rule.applies(sizeOf({ subnet: '10.0.0.0/24' }))).toBe(false)
    expect(rule.applies(sizeOf({ subnet: '10.0.0.9/24', start: '10.0.0.9' }))).toBe(false)
    expect(rule.applies(sizeOf({ subnet: '10.0.0.9/240' }))).toBe(false)
    expect(rule.applies({ function: 'addressAtIndex', pool: { subnet: '10.0.0.9/24' }, index: 0 })).toBe(false)
    expect(rule.expect(sizeOf({ subnet: '10.0.0.9/24' }), { size: 255 })).toEqual({ size: 246 })
    expect(rule.expect(sizeOf({ subnet: 'fd00::9/32' }), { error: true })).toEqual({ error: true })
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
