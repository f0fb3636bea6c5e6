import { type Load, openStore as openAny, type StoreAddress } from '../../../docs/examples/open-store.js'
import { inClusterSystem } from '../../../src/testing/simulation/in-cluster-system.js'

export type Engine = Exclude<StoreAddress['engine'], 'pglite' | 'kubernetes'>

/** A store over a connection of its own, ready for the objects of the in-cluster provider. */
export function openStore(engine: Engine, url: string, load: Load) {
  return openAny({ engine, place: url }, { kinds: inClusterSystem().kinds, load })
}
