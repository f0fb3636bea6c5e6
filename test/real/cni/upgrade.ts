import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { isDeepStrictEqual } from 'node:util'
import { IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { admitExample, exampleNamed } from '../account.js'
import { bundle } from '../bundle.js'
import { Client } from '../controller/client.js'
import { ControllerProcess } from '../controller/process.js'
import type { Depth, Report } from '../report.js'
import { waitFor } from '../servers/tools.js'
import { CONTROLLERS } from './controllers.js'
import { type Ground, ipamOf, rowsOfBlocks, rowsOfObjects } from './ground.js'
import { Load } from './load.js'
import type { StoredRow, Subject } from './runtime.js'

const ADMIN = exampleNamed('whereabouts-admin', 'ipam-kit-whereabouts-admin')
const RANGE = { range: '10.61.0.0/22', gateway: '10.61.0.1' }
const POOL = '10.61.0.0-22'
const DEFINITION = '/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/lab'
const POOLS = `/apis/${WhereaboutsPool.info.apiVersion}/namespaces/kube-system/ippools`

/** How much load there is, how many ADDs each step sees, and after which steps it goes back. */
const SIZES: {
  readonly [D in Depth]: {
    readonly workers: number
    readonly containers: number
    readonly adds: number
    readonly backAfter: readonly (Forth | 'type')[]
  }
} = {
  full: { workers: 4, containers: 8, adds: 24, backAfter: ['start', 'copy', 'cut-over', 'type'] },
  short: { workers: 2, containers: 4, adds: 3, backAfter: ['type'] },
}
// other work on the machine must not fail a test
const STEP_SECONDS = 300

type Type = 'whereabouts' | 'ipam-kit'

interface Parts {
  readonly ground: Ground
  /** A process of the plugin with the rights of its manifest. */
  readonly thin: Subject
  readonly kubeconfig: string
  readonly folder: string
}

/**
 * An upgrade from a pool of whereabouts to blocks by the program for operators, while processes of
 * the plugin add and delete containers: back after each step, and then forth to the end.
 */
export async function upgradeUnderLoad(report: Report, parts: Parts, depth: Depth): Promise<void> {
  const run = await Upgrade.begin(parts, depth)
  try {
    await report.test('before an upgrade, containers get addresses of a pool of whereabouts', () => run.load())
    for (const last of SIZES[depth].backAfter) {
      await report.test(`an upgrade under load is rolled back after ${ABOUT[last]}`, async () => {
        for (const step of FORTH.slice(0, FORTH.indexOf(last as Forth) + 1 || FORTH.length)) await run.step(step)
        if (last === 'type') await run.changeTypes()
        if (last === 'cut-over' || last === 'type') await run.step('roll-back --to dual-write', 'both')
        await run.step('roll-back --to none', 'pool')
        return run.summary()
      })
    }
    await report.test('under load it goes to the end, with definitions of the type ipam-kit', async () => {
      for (const step of FORTH) await run.step(step)
      await run.setType('ipam-kit')
      await run.untilAddsEnd()
      await run.step('finish', 'blocks')
      return run.summary()
    })
    await report.test('after the upgrade each container has its address, and DEL of all leaves nothing', async () => {
      await run.empty()
      return undefined
    })
  } finally {
    await run.end()
  }
}

const FORTH = ['start', 'copy', 'cut-over'] as const
type Forth = (typeof FORTH)[number]

const ABOUT: { readonly [S in Forth | 'type']: string } = {
  start: 'its start',
  copy: 'the copy',
  'cut-over': 'the cut-over',
  type: 'ADDs of the type ipam-kit',
}

/** Which sides have exactly the rows of the containers after a step. */
type Truth = 'pool' | 'both' | 'blocks'

class Upgrade {
  readonly #parts: Parts
  readonly #admin: Client
  readonly #program: string
  readonly #kubeconfig: string
  readonly #controllers: ControllerProcess
  readonly #size: (typeof SIZES)[Depth]
  #load: Load | undefined
  #repeats = 0

  static async begin(parts: Parts, depth: Depth): Promise<Upgrade> {
    const { server } = parts.ground
    const [program, controllers] = [
      await bundle(ADMIN.main, 'whereabouts-admin'),
      await bundle(CONTROLLERS.main, 'whereabouts-controller-of-upgrade'),
    ]
    const [kubeconfig, ofControllers] = [await admitExample(server, ADMIN), await admitExample(server, CONTROLLERS)]
    const flags = ['--blocks', '--sweep-after', '1']
    return new Upgrade(parts, {
      program,
      kubeconfig,
      depth,
      controllers: new ControllerProcess(controllers, ofControllers, flags),
    })
  }

  private constructor(
    parts: Parts,
    given: {
      readonly program: string
      readonly kubeconfig: string
      readonly depth: Depth
      readonly controllers: ControllerProcess
    },
  ) {
    this.#parts = parts
    this.#admin = new Client(parts.ground.server, 16)
    this.#program = given.program
    this.#kubeconfig = given.kubeconfig
    this.#controllers = given.controllers
    this.#size = SIZES[given.depth]
  }

  /** Creates the definition of the network, and starts to add and delete containers. */
  async load(): Promise<string> {
    const body = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata: { name: 'lab' } }
    await this.#admin.send('POST', DEFINITION.replace(/\/lab$/, ''), {
      body: { ...body, spec: { config: configOf('whereabouts') } },
    })
    const { workers, containers } = this.#size
    const subject = this.#subject('whereabouts')
    this.#load = new Load(subject, { admin: this.#admin, folder: this.#parts.folder, workers, containers })
    this.#load.start()
    await this.#more()
    return this.summary()
  }

  /**
   * Makes a step under load, as often as the program asks for it. Then, at rest, each container has
   * its address, and the side that counts has exactly their rows. If both sides have to, the
   * program says so too.
   */
  async step(step: string, truth: Truth = step === 'start' ? 'pool' : 'both'): Promise<void> {
    const load = this.#load as Load
    await this.#until(step)
    await this.#more()
    await load.rest()
    await this.#compare(step, truth)
    await load.check()
    load.start()
  }

  /** Rows that DEL does not free are freed by the sweeps. */
  async #compare(step: string, truth: Truth): Promise<void> {
    const held = [...(this.#load as Load).held].sort()
    let last: readonly [string, unknown][] = []
    await waitFor(
      async () => {
        const rows = await this.#rows()
        const sides = truth === 'both' ? (['pool', 'blocks'] as const) : [truth]
        last = sides
          .map((side) => [side, rows[side]] as const)
          .filter(([, found]) => !isDeepStrictEqual(found, held)) as never
        return last.length === 0 || undefined
      },
      {
        seconds: STEP_SECONDS,
        else: `after ${step} not all rows are those of ${held.length} containers`,
        explain: () => JSON.stringify({ held, last }),
      },
    )
    if (truth !== 'both') return
    const { exit, out } = await this.#run('verify')
    assert.equal(exit, 0, `verify after ${step}: ${out}`)
  }

  /** ADDs of the type ipam-kit, and then only those of the type before. */
  async changeTypes(): Promise<void> {
    const load = this.#load as Load
    await this.setType('ipam-kit')
    await this.#more()
    assert(load.subjects.some(({ ipam }) => 'type' in ipam && ipam.type === 'ipam-kit'))
    await this.setType('whereabouts')
    await this.untilAddsEnd()
  }

  /** An ADD that has begun may have the type before. */
  async untilAddsEnd(): Promise<void> {
    const load = this.#load as Load
    await load.rest()
    load.start()
  }

  /** Gives the definition the other type. A runtime that has read it before uses the old one. */
  async setType(type: Type): Promise<void> {
    await this.#admin.send('PATCH', DEFINITION, { body: { spec: { config: configOf(type) } }, patch: 'merge' })
    const load = this.#load as Load
    load.subject = this.#subject(type)
  }

  async empty(): Promise<void> {
    const load = this.#load as Load
    await load.rest()
    await load.check()
    await load.empty()
    const { pool, blocks } = await this.#rows()
    assert.deepEqual([pool, blocks], [[], []])
    // an ADD of the type before would create a pool that does not exist
    const left = (await this.#admin.list(POOLS)).find(({ metadata }) => metadata.name === POOL)
    assert.equal(left?.metadata.annotations?.['ipam-kit.dev/upgrade'], 'finished')
  }

  summary(): string {
    return `${this.#load?.adds} ADDs, ${this.#repeats} steps were repeated`
  }

  async end(): Promise<void> {
    await this.#load?.rest().catch(() => {})
    this.#admin.close()
    assert.equal(await this.#controllers.stop(), 0, this.#controllers.lines.slice(-20).join('\n'))
  }

  /** Waits for more ADDs. */
  async #more(): Promise<void> {
    const load = this.#load as Load
    const before = load.adds
    await waitFor(() => load.adds >= before + this.#size.adds || undefined, {
      seconds: STEP_SECONDS,
      else: 'the load stands still',
      giveUp: () => assert.deepEqual(load.failures, []),
    })
  }

  /** As a script does it: until the program ends with 0. */
  async #until(step: string): Promise<void> {
    let last = { exit: 0, out: '' }
    await waitFor(
      async () => {
        last = await this.#run(step)
        if (last.exit !== 0) this.#repeats++
        return last.exit === 0 || undefined
      },
      {
        seconds: STEP_SECONDS,
        else: `${step} does not succeed`,
        explain: () => last.out,
        giveUp: () => assert([0, 3, 4].includes(last.exit), `${step}: ${last.exit}: ${last.out}`),
      },
    )
  }

  #run(step: string): Promise<{ readonly exit: number; readonly out: string }> {
    const env = { PATH: process.env.PATH, KUBECONFIG: this.#kubeconfig }
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [this.#program, 'upgrade', ...step.split(' '), '--pool', POOL],
        { env },
        (error, stdout, stderr) => {
          resolve({ exit: error === null ? 0 : Number(error.code), out: `${stdout}${stderr}` })
        },
      )
    })
  }

  #subject(type: Type): Subject {
    const { thin, kubeconfig } = this.#parts
    return { ...thin, ipam: { ...ipamOf(type, kubeconfig), ...RANGE } }
  }

  /** The rows of both sides, as address and container. */
  async #rows(): Promise<{ readonly pool: readonly string[][]; readonly blocks: readonly string[][] }> {
    const { store } = this.#parts.ground
    const texts = (rows: readonly StoredRow[]) => rows.map(({ address, container }) => [address, container]).sort()
    return { pool: texts(await rowsOfObjects(store)), blocks: texts(await rowsOfBlocks(store)) }
  }
}

function configOf(type: Type): string {
  return JSON.stringify({ cniVersion: '1.1.0', name: 'lab', type: 'macvlan', ipam: { type, ...RANGE } })
}
