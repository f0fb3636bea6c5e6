// npm run gates:prove: a check that cannot fail checks nothing.
//
// For each gate: a copy of the tree, one planted fault, and the gate's own command, which has to
// fail AND name the fault. The same command has to pass on the copy without the fault, or its
// failure would prove nothing. With arguments, only the gates whose name contains one of them: npm
// run gates:prove -- layers types
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name) => join('node_modules', '.bin', name)

const layers = [bin('depcruise'), '--config', '.dependency-cruiser.cjs', '--output-type', 'err', 'src/**/*.ts']
const tsc = [process.execPath, join('node_modules', 'typescript-7', 'bin', 'tsc')]
const vitest = (...args) => [bin('vitest'), 'run', ...args]
const noIo = vitest('test/architecture/no-io.test.ts')
const attw = [bin('attw'), '--pack', '--profile', 'esm-only']

/**
 * `measures`: nothing else may run beside it.
 *
 * @type {{ gate: string, fault: string, plant: (tree: Tree) => void, command: string[], expect:
 * RegExp[], built?: boolean, needs?: string, measures?: boolean }[]}
 */
const proofs = [
  {
    gate: 'layers',
    fault: 'cidr imports allocator',
    plant: (tree) => tree.write('src/cidr/planted.ts', "export * from '../allocator/index.js'\n"),
    command: layers,
    expect: [/layer-cidr: src\/cidr\/planted\.ts → src\/allocator\/index\.ts/],
  },
  {
    gate: 'layers',
    fault: 'a provider imports a store',
    plant: (tree) => tree.write('src/provider/in-cluster/planted.ts', "export type * from '../../store/index.js'\n"),
    command: layers,
    expect: [/layer-provider-in-cluster: src\/provider\/in-cluster\/planted\.ts → src\/store\/index\.ts/],
  },
  {
    gate: 'layers',
    fault: 'a provider imports another one that is not claims, and claims imports one',
    plant: (tree) => {
      tree.write('src/provider/consumer/planted.ts', "export type * from '../in-cluster/index.js'\n")
      tree.write('src/provider/claims/planted.ts', "export type * from '../consumer/index.js'\n")
    },
    command: layers,
    expect: [
      /layer-provider-consumer: src\/provider\/consumer\/planted\.ts → src\/provider\/in-cluster\/index\.ts/,
      /layer-provider-claims: src\/provider\/claims\/planted\.ts → src\/provider\/consumer\/index\.ts/,
    ],
  },
  {
    gate: 'layers',
    fault: 'a store adapter imports another',
    plant: (tree) => tree.write('src/store/etcd/planted.ts', "export * from '../memory/index.js'\n"),
    command: layers,
    expect: [/layer-store-adapter: src\/store\/etcd\/planted\.ts → src\/store\/memory\/index\.ts/],
  },
  {
    gate: 'layers',
    fault: 'every other rule, one file each',
    plant: (tree) => {
      tree.write('src/errors/planted.ts', "import '../cidr/index.js'\n")
      tree.write('src/allocator/planted.ts', "import '../claim/index.js'\nimport '../testing/index.js'\n")
      tree.write('src/claim/planted.ts', "import '../cidr/index.js'\n")
      tree.write('src/crd/meta/planted.ts', "import '../../plan/index.js'\nimport '../cluster-api/index.js'\n")
      tree.write('src/crd/metal3/planted.ts', "import '../cluster-api/index.js'\n")
      tree.write(
        'src/crd/in-cluster/planted.ts',
        "import { x } from '../cluster-api/index.js'\nimport '../metal3/planted.js'\n",
      )
      tree.write(
        'src/plan/planted.ts',
        "import { x } from '../crd/meta/index.js'\nimport '../provider/in-cluster/index.js'\n",
      )
      tree.write('src/store/planted.ts', "import './memory/index.js'\n")
      tree.write('src/store/memory/planted.ts', "import '../../allocator/index.js'\n")
      tree.write('src/store/rules/planted.ts', "import '../engine/index.js'\n")
      tree.write('src/store/engine/planted.ts', "import '../memory/index.js'\n")
      tree.write('src/store/sql/planted.ts', "import '../sqlite/index.js'\n")
      tree.write('src/bytes/planted.ts', "import '../cidr/index.js'\n")
      tree.write('src/run/planted.ts', "import { x } from '../crd/meta/index.js'\nimport '../store/memory/index.js'\n")
      tree.write('src/render/planted.ts', "import '../provider/in-cluster/index.js'\n")
      tree.append('src/index.ts', "import './crd/index.js'\n")
      tree.write('src/newcomer/planted.ts', "import '../errors/index.js'\n")
      tree.write('src/cidr/zod.ts', "import 'zod'\nimport 'vitest'\nimport 'node:fs'\nimport './nowhere.js'\n")
      tree.write('src/allocator/deep.ts', "import '../cidr/set/mix.js'\n")
      tree.write('src/allocator/oracle.ts', "import 'ip-address'\nimport 'fast-check'\n")
      tree.write('src/cidr/exotic.ts', "import 'ip-address'\nimport './forms/index.js'\n")
      tree.write('src/cidr/orphan.ts', 'export const orphan = 1\n')
      tree.write(
        'src/cidr/chicken.ts',
        "import type { Egg } from './egg.js'\nexport interface Chicken {\n  from: Egg\n}\n",
      )
      tree.write(
        'src/cidr/egg.ts',
        "import type { Chicken } from './chicken.js'\nexport interface Egg {\n  from: Chicken\n}\n",
      )
    },
    command: layers,
    expect: [
      /layer-errors: src\/errors\/planted/,
      /layer-bytes: src\/bytes\/planted/,
      /layer-store-sql: src\/store\/sql\/planted/,
      /layer-allocator: src\/allocator\/planted/,
      /layer-allocator: src\/allocator\/deep\.ts → src\/cidr\/set\/mix/,
      /layer-claim: src\/claim\/planted/,
      /layer-allocator: src\/allocator\/planted\.ts → src\/testing/,
      /layer-crd-meta: src\/crd\/meta\/planted\.ts → src\/plan/,
      /layer-crd-meta: src\/crd\/meta\/planted\.ts → src\/crd/,
      /layer-crd-metal3: src\/crd\/metal3\/planted/,
      /layer-crd-in-cluster: src\/crd\/in-cluster\/planted/,
      /types-only-in-cluster-cluster-api: src\/crd\/in-cluster\/planted/,
      /types-only-plan-crd: src\/plan\/planted/,
      /layer-plan: src\/plan\/planted/,
      /layer-store-files: src\/store\/planted/,
      /layer-store-adapter: src\/store\/memory\/planted/,
      /layer-store-rules: src\/store\/rules\/planted/,
      /layer-store-engine: src\/store\/engine\/planted/,
      /types-only-store-run-render-meta: src\/run\/planted/,
      /layer-run: src\/run\/planted/,
      /layer-render: src\/render\/planted/,
      /layer-files: src\/index\.ts/,
      /layer-known: src\/newcomer\/planted/,
      /package-zod: src\/cidr\/zod/,
      /package-other: src\/cidr\/zod/,
      /package-dev: src\/cidr\/zod/,
      /no-node-core: src\/cidr\/zod/,
      /no-unresolvable: src\/cidr\/zod/,
      /package-ip-address: src\/allocator\/oracle/,
      /package-fast-check: src\/allocator\/oracle/,
      /package-ip-address: src\/cidr\/exotic/,
      /cidr-forms: src\/cidr\/exotic/,
      /no-orphans: src\/cidr\/orphan/,
      /no-cycles: src\/cidr\/(chicken|egg)/,
    ],
  },
  {
    gate: 'no I/O',
    fault: 'Date.now in src/',
    plant: (tree) => tree.append('src/cidr/index.ts', 'export const planted = () => Date.now()\n'),
    command: noIo,
    expect: [/src\/cidr\/index\.ts:\d+ Date\.now/],
  },
  {
    gate: 'no I/O',
    fault: 'node:fs in src/',
    plant: (tree) => tree.append('src/errors/index.ts', "export { readFileSync } from 'node:fs'\n"),
    command: noIo,
    expect: [/src\/errors\/index\.ts:\d+ import of 'node:fs'/],
  },
  {
    gate: 'types',
    fault: 'setTimeout in src/',
    plant: (tree) => tree.append('src/cidr/index.ts', 'export const planted = (f: () => void) => setTimeout(f, 1)\n'),
    command: [...tsc, '-p', 'tsconfig.src.json'],
    expect: [/src\/cidr\/index\.ts.*Cannot find name 'setTimeout'/],
  },
  {
    gate: 'exports',
    fault: 'one export more',
    plant: (tree) => tree.append('src/cidr/index.ts', 'export const planted = 1\n'),
    command: vitest('test/architecture/exports.test.ts'),
    expect: [/FAIL.*'ipam-kit\/cidr'/, /\+\s+"planted": "number"/, /1 failed/],
  },
  {
    gate: 'declarations',
    fault: 'a type of a signature that no entry exports',
    plant: (tree) =>
      tree.append(
        'src/provider/gc/index.ts',
        "import type { KubeObject } from '../../crd/meta/index.js'\ninterface Hidden { readonly object: KubeObject }\nexport const planted = (): Hidden | undefined => undefined\n",
      ),
    command: vitest('test/types/declarations.test.ts'),
    expect: [/\* planted \*|TS2742.*Hidden|TS4023.*Hidden|TS2883.*Hidden|'Hidden'/, /failed/],
  },
  {
    gate: 'exports',
    fault: 'an entry missing in the exports map',
    plant: (tree) =>
      tree.edit('package.json', (text) => {
        const manifest = JSON.parse(text)
        delete manifest.exports['./claim']
        return JSON.stringify(manifest, null, 2)
      }),
    command: vitest('test/architecture/package.test.ts'),
    expect: [/FAIL.*every folder of src\/ that has an index\.ts/, /1 failed/],
  },
  {
    gate: 'type tests',
    fault: 'a field of Address4 no longer readonly',
    plant: (tree) =>
      tree.edit('src/cidr/nouns/types.ts', (text) =>
        text.replace(/(interface Address4 \{[^}]*)readonly value: number/, '$1value: number'),
      ),
    command: vitest('--typecheck.only', 'test/types/cidr.test-d.ts'),
    expect: [/FAIL.*values are plain readonly data/, /1 failed/],
  },
  {
    gate: 'bundles',
    fault: 'zod in cidr',
    plant: (tree) => tree.append('src/cidr/index.ts', "import * as z from 'zod'\nexport const planted = z.string()\n"),
    command: vitest('test/architecture/bundle.test.ts'),
    expect: [/FAIL.*'ipam-kit\/cidr' carries no package/],
  },
  {
    gate: 'lock',
    fault: 'an address in package-lock.json',
    plant: (tree) =>
      tree.edit('package-lock.json', (text) => {
        const lock = JSON.parse(text)
        lock.packages['node_modules/zod'].resolved = 'https://packages.example/zod.tgz'
        return JSON.stringify(lock, null, 2)
      }),
    command: vitest('test/architecture/lock.test.ts'),
    expect: [/FAIL.*names no registry/, /1 failed/],
  },
  {
    gate: 'lock',
    fault: 'an optional dependency without an entry',
    plant: (tree) =>
      tree.edit('package-lock.json', (text) => {
        const lock = JSON.parse(text)
        delete lock.packages['node_modules/@esbuild/win32-x64']
        return JSON.stringify(lock, null, 2)
      }),
    command: vitest('test/architecture/lock.test.ts'),
    expect: [/FAIL.*has an entry for every optional dependency/, /@esbuild\/win32-x64/],
  },
  {
    gate: 'summary line',
    fault: 'a test that fails, and a file that does not load',
    plant: (tree) => {
      tree.write(
        'test/planted/fails.test.ts',
        "import { expect, test } from 'vitest'\ntest('fails', () => expect(1).toBe(2))\n",
      )
      tree.write('test/planted/throws.test.ts', "throw new Error('planted')\n")
    },
    command: vitest('--passWithNoTests', 'test/planted'),
    expect: [/(^|\n)0 passed, 2 failed, 0 skipped\n$/],
  },
  {
    gate: 'test files',
    fault: 'a plain test of @fast-check/vitest, and one that measures time',
    plant: (tree) =>
      tree.write(
        'test/planted/fast.test.ts',
        "import { test } from '@fast-check/vitest'\ntest('runs 100 times', () => {})\nperformance.now()\n",
      ),
    command: vitest('test/architecture/test-files.test.ts'),
    expect: [
      /FAIL.*run once, and measure neither time nor memory/,
      /without \.prop runs 100 times/,
      /move the test to/,
    ],
  },
  {
    gate: 'depth',
    fault: 'a test, with and without modules of its own, that fails only where the suite runs deep',
    plant: (tree) => {
      const body =
        "import { isDeep, runs } from '../setup/depth.js'\ntest('shallow', () => expect([isDeep, runs(1)]).toEqual([false, 20]))\n"
      tree.write('test/planted/shared.test.ts', `import { expect, test } from 'vitest'\n${body}`)
      tree.write('test/planted/own.test.ts', `import { expect, test, vi } from 'vitest'\n${body}vi.resetModules()\n`)
    },
    command: vitest('--mode', 'deep', '--passWithNoTests', 'test/planted'),
    expect: [/FAIL.*shared\.test\.ts.*shallow/, /FAIL.*own\.test\.ts.*shallow/, /\n0 passed, 2 failed, 0 skipped\n$/],
  },
  {
    gate: 'cost',
    fault: 'a map that keeps what was deleted from it',
    plant: (tree) =>
      tree.edit('src/cidr/map/prefix-trie.ts', (text) => text.replace('    this.#values[index] = undefined\n', '')),
    command: vitest('--config', 'vitest.cost.config.ts', 'test/cidr/map/prefix-map.cost.ts'),
    expect: [/FAIL.*lets go of a value that is deleted/],
  },
  {
    gate: 'lint',
    fault: 'an any, a default export, an enum, a semicolon',
    plant: (tree) => {
      tree.write('src/cidr/planted.ts', "import { codes } from '../errors'\nexport default codes as any\n")
      tree.write('src/cidr/planted-too.ts', 'export enum Colour {\n  Red = 1\n};\n')
    },
    command: [bin('biome'), 'check', '--vcs-enabled=false', '--error-on-warnings', 'src', 'test', 'scripts'],
    expect: [/noExplicitAny/, /noDefaultExport/, /noEnum/, /useImportExtensions/, /planted-too\.ts format/],
  },
  {
    gate: 'dead code',
    fault: 'a file and an export that nothing uses',
    plant: (tree) => {
      tree.write('src/cidr/planted.ts', 'export const planted = 1\n')
      tree.append('src/errors/quote.ts', 'export const unused = 1\n')
    },
    command: [bin('knip')],
    expect: [/Unused files[\s\S]*src\/cidr\/planted\.ts/, /Unused exports[\s\S]*unused\s+src\/errors\/quote\.ts/],
  },
  {
    gate: 'package',
    fault: 'exports map points to a file that is not there',
    plant: (tree) =>
      tree.edit('package.json', (text) => text.replace('"./dist/cidr/index.js"', '"./dist/cidr/gone.js"')),
    command: [bin('publint'), '--strict'],
    expect: [/exports\["\.\/cidr"\].*(gone\.js|does not exist)/],
    built: true,
  },
  {
    gate: 'package',
    fault: 'an entry without its types',
    plant: (tree) => tree.remove('dist/cidr/index.d.ts'),
    command: attw,
    expect: [/No types|UntypedResolution/i],
    built: true,
  },
  {
    gate: 'package',
    fault: 'a built entry that is not in the map, and an import of a package',
    plant: (tree) => {
      tree.write('dist/cidr/planted/index.js', "import 'left-pad'\n")
    },
    command: ['node', 'scripts/check-dist.mjs'],
    expect: [
      /cidr\/planted\/index: is in dist\//,
      /planted\/index\.js is built and not in the exports map/,
      /imports left-pad/,
    ],
    built: true,
  },
  {
    gate: 'package',
    fault: 'a picture in the README, a link out of the package, a program that prints something else',
    plant: (tree) => {
      tree.edit('README.md', (text) => text.replace('// 239n', '// 240n'))
      tree.append('README.md', '\n![a picture](docs/images/overview.svg)\n')
      tree.append('docs/guides/cidr.md', '\n[a test](../../test/setup/depth.ts)\n')
    },
    command: [bin('tsx'), 'scripts/check-packed.ts'],
    expect: [
      /README\.md links to docs\/images\/overview\.svg/,
      /docs\/guides\/cidr\.md links to \.\.\/\.\.\/test\/setup\/depth\.ts/,
      /program-1\.mjs prints\ntrue\n239n/,
    ],
    built: true,
  },
  {
    gate: 'acceptance',
    fault: 'a case that the library answers differently',
    plant: (tree) =>
      tree.write(
        'planted-cases/capi-poolutil.json',
        JSON.stringify({
          cases: [
            {
              id: 'planted-1',
              case: 'planted',
              input: { function: 'count', addresses: ['10.0.0.1'] },
              expect: { count: 2 },
              source: 'planted',
            },
          ],
        }),
      ),
    command: [bin('tsx'), 'test/acceptance/run.ts', '--dir', 'planted-cases'],
    expect: [/capi-poolutil\.json: 0 passed, 1 failed/, /planted-1/],
  },
  {
    gate: 'types of test/real',
    fault: 'a part without a name',
    plant: (tree) => tree.edit('test/real/browser/part.ts', (text) => text.replace(/name: 'browser',/, '')),
    command: [...tsc, '-p', 'test/real'],
    expect: [/test\/real\/browser\/part\.ts.*'name' is missing/],
  },
  {
    gate: 'real',
    fault: 'a global of Node, which a browser does not have',
    plant: (tree) =>
      tree.edit('src/cidr/text/flat-text.ts', (text) =>
        text.replace('  const b = bytes\n', "  const b = globalThis['Buff' + 'er'].from(bytes)\n"),
      ),
    command: [bin('tsx'), 'test/real/run.ts', 'browser'],
    expect: [/FAILED .*it answers in the browser as in Node/],
    needs: 'chromium',
  },
  {
    gate: 'benchmarks',
    fault: 'a floor that is not reached',
    plant: (tree) =>
      tree.edit('bench/budget.json', (text) => {
        const budget = JSON.parse(text)
        budget.goals['format IPv4']['ip-bigint'] = 1e6
        return JSON.stringify(budget)
      }),
    command: [bin('tsx'), 'bench/run.ts', '--only', 'format IPv4'],
    measures: true,
    expect: [/format IPv4: .* of ip-bigint is below the floor/],
  },
  {
    gate: 'benchmarks',
    fault: 'a peer that is given other texts than we are',
    plant: (tree) =>
      tree.edit('bench/works/text.ts', (text) =>
        text.replace('parse(corpora.addresses4(), parseIp', 'parse(corpora.addresses6(), parseIp'),
      ),
    command: [bin('tsx'), 'bench/run.ts', '--only', 'parse IPv4'],
    measures: true,
    expect: [/parse IPv4: ip-bigint does not do the same work/],
  },
  {
    gate: 'benchmarks beside Go',
    fault: 'a floor that is not reached',
    plant: (tree) =>
      tree.edit('bench/budget.json', (text) => {
        const budget = JSON.parse(text)
        budget.native['format IPv4']['Go net/netip'] = 1e6
        return JSON.stringify(budget)
      }),
    command: [bin('tsx'), 'bench/native/run.ts', '--only', 'format IPv4'],
    measures: true,
    expect: [/format IPv4: .* of Go net\/netip is below the floor/],
    needs: 'go',
  },
  {
    gate: 'documents',
    fault: 'an output on the page of the demo that the demo does not print',
    plant: (tree) =>
      tree.edit('docs/reference/demo.md', (text) => text.replace('Bound 10.20.0.11', 'Bound 10.20.0.13')),
    command: vitest('test/docs/pages.test.ts'),
    expect: [/FAIL.*shows what the demo really prints/],
  },
  {
    gate: 'documentation site',
    fault: 'an entry without a sentence, a link to a heading that there is not',
    plant: (tree) => {
      tree.edit('src/render/index.ts', (text) => text.replace(/Text and pictures[\s\S]*?\n \*\n/, '\n'))
      tree.edit('typedoc.json', (text) => text.replace('"invalidLink": true', '"invalidLink": false'))
      tree.append('docs/guides/cidr.md', '\n[a heading](<#no such heading>)\n')
    },
    command: ['npm', 'run', 'docs'],
    expect: [/ipam-kit_render\.html does not begin with a sentence/, /has no such anchor/],
  },
  {
    gate: 'safety',
    fault: 'the ledger does not hold what it is shown',
    plant: (tree) =>
      tree.edit('src/provider/claims/ledger.ts', (text) =>
        text.replace('    if (before === undefined || !holdsSame(before, address)) this.hold(key, address)\n', ''),
      ),
    command: vitest('test/provider/in-cluster/lifecycle.prop.ts'),
    expect: [/FAIL.*no address twice, none outside the pool, none lost/],
  },
  {
    gate: 'safety',
    fault: 'a release that deletes the claim before its address',
    plant: (tree) =>
      tree.edit('src/provider/claims/release.ts', (text) =>
        text.replace(
          "return { outcome: { kind: 'released'",
          "effects.reverse()\n  return { outcome: { kind: 'released'",
        ),
      ),
    command: vitest('test/provider/in-cluster/crash.test.ts'),
    expect: [/FAIL.*a run that is cut off at any single write/],
  },
  {
    gate: 'safety',
    fault: 'a row that is written whatever the version of its block is',
    plant: writeWhateverTheVersion,
    command: vitest('test/testing/simulate-blocks.test.ts'),
    expect: [/FAIL.*give no address twice and lose none/],
  },
  {
    gate: 'safety',
    fault: 'a row whose number only counts on from a create that arrived late',
    plant: (tree) =>
      tree.edit('src/provider/blocks/block/rows.ts', (text) =>
        text.replace(
          'return Math.max(spec.sequence + 1, firstSequence(nowMs))',
          'return spec.sequence + 1 + 0 * nowMs',
        ),
      ),
    command: vitest('test/provider/blocks/tasks/allocate.test.ts'),
    expect: [/FAIL.*that is repeated takes nothing after a create of the block arrived late/],
  },
  {
    gate: 'demo of blocks',
    fault: 'a row that is written whatever the version of its block is',
    plant: writeWhateverTheVersion,
    command: [bin('tsx'), 'docs/examples/demo/main.ts', '--scenario', 'blocks'],
    // the demo asks the admission rules of blocks, which refuse such a row
    expect: [/FAILED {2}every request was served/, /Not so: every request was served/],
  },
  {
    gate: 'size',
    fault: 'forty kilobytes of noise in cidr',
    plant: (tree) => {
      let state = 1
      const letter = () => {
        state = (state * 48271) % 2147483647
        return String.fromCharCode(97 + (state % 26))
      }
      const noise = Array.from({ length: 40_000 }, letter)
      tree.append('dist/cidr/index.js', `\nexport const planted = '${noise.join('')}'\n`)
    },
    command: [bin('size-limit')],
    expect: [/limit has exceeded|exceeded by/i],
    built: true,
  },
]

/** A copy of the tree, without history and with the installed packages of the original. */
class Tree {
  constructor(dir) {
    this.dir = dir
  }

  static copy(from, dir) {
    cpSync(from, dir, { recursive: true, verbatimSymlinks: true })
    return new Tree(dir)
  }

  path(file) {
    return join(this.dir, file)
  }

  write(file, text) {
    mkdirSync(dirname(this.path(file)), { recursive: true })
    writeFileSync(this.path(file), text)
  }

  append(file, text) {
    this.edit(file, (before) => before + text)
  }

  edit(file, change) {
    const before = readFileSync(this.path(file), 'utf8')
    const after = change(before)
    if (after === before) throw new Error(`nothing to plant in ${file}: it has changed`)
    writeFileSync(this.path(file), after)
  }

  remove(file) {
    if (!existsSync(this.path(file))) throw new Error(`nothing to remove: ${file}`)
    rmSync(this.path(file))
  }
}

/** Blocks are written as if nobody else did. */
function writeWhateverTheVersion(tree) {
  tree.edit('src/provider/blocks/block/rows.ts', (text) =>
    text.replace(
      'return patchObject(object, { spec }, why)',
      'return patchObject({ ...object, metadata: { name: object.metadata.name } }, { spec }, why)',
    ),
  )
}

/** What git would commit now: tracked and new files, nothing ignored. */
function original(dir) {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (listed.status !== 0) throw new Error(`git ls-files failed: ${listed.stderr}`)
  for (const file of listed.stdout.split('\0')) {
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(dir, file), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'), 'dir')
  return dir
}

function isHere(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).error === undefined
}

function run([command, ...args], cwd) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CI: 'true', NO_COLOR: '1' }
    delete env.FORCE_COLOR
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    child.once('error', reject)
    child.once('close', (status) => resolve({ status: status ?? 1, output, stdout }))
  })
}

async function main() {
  const wanted = process.argv.slice(2)
  const named = proofs.filter(({ gate }) => wanted.length === 0 || wanted.some((word) => gate.includes(word)))
  const chosen = named.filter(({ needs }) => needs === undefined || isHere(needs))
  for (const { gate, needs } of named.filter((proof) => !chosen.includes(proof))) {
    console.log(`left out    ${gate}: there is no command ${needs}`)
  }
  const work = mkdtempSync(join(tmpdir(), 'prove-gates-'))
  try {
    const plain = original(join(work, 'plain'))
    const built = chosen.some((proof) => proof.built) ? Tree.copy(plain, join(work, 'built')).dir : undefined
    if (built !== undefined) {
      for (const command of [
        [bin('tsup'), '--silent'],
        [...tsc, '-p', 'tsconfig.build.json'],
      ]) {
        const { status, output } = await run(command, built)
        if (status !== 0) throw new Error(`${command.join(' ')} failed\n${output}`)
      }
    }

    const controls = new Map()
    const rows = []
    for (const proof of chosen) {
      const base = proof.built ? built : plain
      const key = `${base} ${proof.command.join(' ')}`
      const started = Date.now()
      const dir = join(work, 'faulty')
      const tree = Tree.copy(base, dir)
      if (!controls.has(key)) controls.set(key, run(proof.command, base))
      if (proof.measures) await controls.get(key)
      const verdict = await prove(proof, controls.get(key), tree)
      rmSync(dir, { recursive: true, force: true })
      rows.push({ ...proof, verdict, seconds: (Date.now() - started) / 1000 })
      console.log(`${verdict.proven ? 'proven' : 'NOT PROVEN'}  ${proof.gate}: ${proof.fault}`)
      if (!verdict.proven) console.log(indent(verdict.why))
    }
    return report(rows)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** @param without the same command on a tree without the fault, which may run meanwhile */
async function prove(proof, without, tree) {
  const name = proof.command.join(' ')
  let problem
  try {
    proof.plant(tree)
  } catch (error) {
    problem = error.message
  }
  const [control, { status, output, stdout }] = await Promise.all([
    without,
    problem === undefined ? run(proof.command, tree.dir) : { status: 1, output: '', stdout: '' },
  ])
  if (control.status !== 0) {
    return { proven: false, why: `fails without the fault too: ${name}\n${tail(control.output)}` }
  }
  if (problem !== undefined) return { proven: false, why: `could not plant: ${problem}` }
  if (status === 0) return { proven: false, why: `passes with the fault: ${name}` }
  const unseen = proof.expect.filter((pattern) => !pattern.test(output) && !pattern.test(stdout))
  if (unseen.length === 0) return { proven: true, why: '' }
  return {
    proven: false,
    why: `fails (exit ${status}) without naming ${unseen.join(' and ')}: ${name}\n${tail(output)}`,
  }
}

function report(rows) {
  const width = (pick) => Math.max(...rows.map((row) => pick(row).length))
  const [gate, fault] = [width((row) => row.gate), width((row) => row.fault)]
  console.log('')
  for (const row of rows) {
    const result = row.verdict.proven ? 'fails as it should' : 'NOT PROVEN'
    console.log(
      `${row.gate.padEnd(gate)}  ${row.fault.padEnd(fault)}  ${row.seconds.toFixed(1).padStart(5)} s  ${result}`,
    )
  }
  const open = rows.filter((row) => !row.verdict.proven).length
  console.log(`\n${rows.length - open} of ${rows.length} gates proven`)
  return open === 0 && rows.length > 0 ? 0 : 1
}

function tail(text) {
  return text.trimEnd().split('\n').slice(-40).join('\n')
}

function indent(text) {
  return text.replaceAll(/^/gm, '    ')
}

process.exitCode = await main()
