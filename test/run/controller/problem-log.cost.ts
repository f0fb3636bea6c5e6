import { ProblemLog } from 'ipam-kit/run'
import { expect, test } from 'vitest'
import { bestMsOf } from '../../setup/cost.js'
import { VirtualTimers } from './virtual-timers.js'

test.each(['a-', 'de-ad-', 'a', '-', '_', '0', 'aa aa-'])('a line of very many %j takes no time', (part) => {
  const error = new Error(part.repeat(50_000))
  const report = () =>
    new ProblemLog({ timers: new VirtualTimers(), log: () => {} }).report({
      ...{ kind: 'thrown', planner: 'p', key: 'IPAddressClaim lab/web-0', error },
    })
  expect(bestMsOf(report, 3)).toBeLessThan(50)
})
