import { bundle } from '../bundle.js'
import type { Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { MAIN } from './ground.js'
import { lives } from './life.js'
import { restores } from './restore.js'
import { replays } from './traces.js'

/** The in-cluster controller of docs/examples, as people run it, with no more rights than its manifest gives it. */
export const controller: Part = {
  name: 'controller',
  about:
    'the example controller on a real control plane ends where the Go provider does, keeps its counts through kills, and is fast',
  async run(report) {
    await installClients()
    const program = await bundle(MAIN, 'controller')
    await Promise.all((['upstream', 'generated'] as const).map((definitions) => lives(report, program, definitions)))
    await lives(report, program, 'generated', 'blocks')
    await report.test('a database that is restored to an earlier state ends the controller', () => restores(program))
    await replays(report, program)
  },
}
