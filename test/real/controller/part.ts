import { bundle } from '../bundle.js'
import type { Depth, Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { type Definitions, MAIN } from './ground.js'
import { lives } from './life.js'
import { restores } from './restore.js'
import { standsStill } from './standing.js'
import { replays } from './traces.js'

const LIVES: {
  readonly [D in Depth]: {
    readonly definitions: readonly Definitions[]
    /** Half of them while claims bind, half while they go. */
    readonly kills: number
    readonly claimsOfAPool: number
    /** Blocks: after how many seconds a row without a claim goes. */
    readonly sweepSeconds: number
  }
} = {
  full: { definitions: ['upstream', 'generated'], kills: 10, claimsOfAPool: 100, sweepSeconds: 30 },
  short: { definitions: ['generated'], kills: 2, claimsOfAPool: 40, sweepSeconds: 10 },
}

/**
 * The in-cluster controller of docs/examples, as people run it, with no more rights than its
 * manifest gives it.
 */
export const controller: Part = {
  name: 'controller',
  about:
    'the example controller on a real control plane ends where the Go provider does, keeps its counts through kills, and is fast',
  place: 'alone',
  async run(report, depth) {
    await installClients()
    const program = await bundle(MAIN, 'controller')
    const { definitions, ...size } = LIVES[depth]
    await Promise.all(
      definitions.map((each) => lives(report, program, { definitions: each, ledger: 'objects', ...size })),
    )
    const onBlocks = () => lives(report, program, { definitions: 'generated', ledger: 'blocks', ...size })
    const faults = async () => {
      await report.test(
        'a leader that is stopped, and continues while another one leads, binds no claim to the address of another',
        () => standsStill(program, depth),
      )
      await report.test('a database that is restored to an earlier state ends the controller', () => restores(program))
    }
    if (depth === 'full') await onBlocks().then(faults)
    // most of both is waiting
    else await Promise.all([onBlocks(), faults()])
    await replays(report, program, depth)
  },
}
