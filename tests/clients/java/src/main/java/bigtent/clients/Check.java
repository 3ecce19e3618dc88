package bigtent.clients;

/** One promise. It throws what is wrong. */
interface Check {
  void run(World world) throws Exception;
}
