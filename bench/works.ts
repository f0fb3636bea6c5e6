import type { Work } from './harness.js'
import { allocateWorks } from './works/allocate.js'
import { cacheWorks } from './works/cache.js'
import { externalPoolWorks, largeExternalPoolWorks } from './works/external-pools.js'
import { manyHoldingsWorks, manyPoolsWorks } from './works/holdings.js'
import { networkViewWorks } from './works/network-view.js'
import { nodeIPAMWorks } from './works/node-ipam.js'
import { longPersistentIPWorks, persistentIPWorks } from './works/persistent-ip.js'
import { planWorks } from './works/plan.js'
import { prefixWorks } from './works/prefixes.js'
import { setWorks } from './works/sets.js'
import { slotWorks } from './works/slots.js'
import { textWorks } from './works/text.js'
import { whereaboutsWorks } from './works/whereabouts.js'

/** Measured beside peers in JavaScript. */
export const works: readonly Work[] = [
  ...textWorks,
  ...setWorks,
  ...allocateWorks,
  ...planWorks,
  ...cacheWorks,
  ...networkViewWorks,
  ...nodeIPAMWorks,
  ...externalPoolWorks,
  ...slotWorks,
  ...prefixWorks,
  ...whereaboutsWorks,
  ...persistentIPWorks,
  // last: pools stay in memory
  ...manyPoolsWorks,
]

/** Their objects take tens of seconds to make. */
export const longWorks: readonly Work[] = [...largeExternalPoolWorks, ...manyHoldingsWorks, ...longPersistentIPWorks]
